import Arguments
import JobQueue
import Log
import Terminal

struct JobCommand: HaulCommand {
  static let name = "job"
  static let abstract = "Show all of one job, and its attempts."
  static let examples = [
    Example("haul job 17", "Where job 17 stands and who has tried it."),
    Example("haul job 17 --json", "The same as one JSON object."),
  ]
  static let options: [Option<Self>] = group(\.output) + group(\.database)
  static let operands: [Operand<Self>] = [.required("id", \.id, "The job's id.")]

  var id: Int64 = 0
  var output = OutputOptions()
  var database = DatabaseOptions()

  func perform() async throws {
    var selector = JobSelector()
    selector.ids = [id]
    let (jobs, attempts) = try await database.withQueue { [selector] queue in
      (try await queue.jobs(selector, limit: 1), try await queue.attempts(of: id))
    }
    guard let job = jobs.first else { throw ExitError(.usage, "there is no job \(id).") }
    let listing = Listing(JobRow.columns + JobRow.moreColumns)
    let history = Listing(AttemptRow.columns)
    if output.isJSON {
      let objects = attempts.map { JSONValue.object(history.members($0)) }
      let members = listing.members(job) + [.init("attempts", .array(objects))]
      try StandardStream.output.write(JSONValue.object(members).line + "\n")
    } else {
      let screen = OutputOptions.screen
      let table = attempts.isEmpty ? "" : "\n" + history.table(attempts, on: screen)
      try StandardStream.output.write(listing.facts(job, on: screen) + table)
    }
  }
}

extension AttemptRow {
  typealias Column = Listing<AttemptRow>.Column

  static let columns: [Column] = [
    Column("ATTEMPT", key: "attempt", .right, value: { .number($0.attempt) }),
    Column("WORKER", key: "worker", .right, value: { .number($0.worker) }),
    Column("MACHINE", key: "machine", value: { .text($0.machine) }),
    Column("TOKEN", key: "token", .right, value: { .number($0.token) }),
    Column("STARTED", key: "started_at", value: { .string($0.startedAt) }),
    Column("ENDED", key: "ended_at", value: { .string($0.endedAt) }),
    Column(
      "TIME", key: "seconds", .right, value: { .double($0.seconds) },
      text: { HumanFormat.duration(.seconds($0.seconds)) }),
    Column(
      "RESULT", key: "result", value: { .string($0.result) }, style: { Style(state: $0.result) }),
    Column("CHARGED", key: "charged", value: { .bool($0.charged) }),
    Column(
      "RESUMED AT", key: "resumed_at", .right, value: { .number($0.resumedAt) },
      text: { HumanFormat.bytes($0.resumedAt) }),
    Column(
      "FETCHED", key: "fetched", .right, value: { .number($0.fetched) },
      text: { HumanFormat.bytes($0.fetched) }),
    Column(
      "DURABLE", key: "durable", .right, value: { .number($0.durable) },
      text: { HumanFormat.bytes($0.durable) }),
    Column("CHANGES", key: "changes", .right, value: { .number($0.changes) }),
    Column("STATUS", key: "status", .right, value: { .number($0.status) }),
    Column("ERROR", key: "error", value: { .text($0.error) }),
    Column("MESSAGE", key: "message", value: { .text($0.message) }),
  ]
}
