import Arguments
import HaulSystem
import JobModel
import JobQueue
import Reports
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

  private static let inPart = """
    A worker that mounts the directory of its part file goes on with it; five minutes after it was left any other begins anew.
    """

  func perform() async throws {
    var selector = JobSelector()
    selector.ids = [id]
    let (job, attempts, worker, obstacle) = try await database.withQueue { [selector] queue in
      // One that retention dropped since it was looked for.
      guard let job = try await queue.jobs(selector, limit: 1).first else {
        throw ExitError(.badInput, "there is no job \(id).")
      }
      let attempts = try await queue.attempts(of: id)
      if let holder = job.worker {
        return (job, attempts, try await queue.worker(holder), Obstacle?.none)
      }
      // That it is paused, or waits for its time, is said already.
      guard job.state == .queued || job.state == .interrupted else {
        return (job, attempts, nil, nil)
      }
      let obstacle = try await queue.obstacle(to: AwaitedJobs(batches: [], others: [id]))
      return (job, attempts, nil, obstacle)
    }
    // Of the worker that has it, or had it last: with disks of their own, the machine that has the file.
    let machine = JobRow.Column(
      "MACHINE", key: "machine", value: { _ in .text(worker?.machine ?? attempts.last?.machine) })
    let process = JobRow.Column("PID", key: "pid", .right, value: { _ in .number(worker?.pid) })
    // Of a job that has failed, or that waits because its last attempt has.
    let trouble = job.error ?? (job.finishedAt == nil ? attempts.last?.error : nil)
    let advice = JobRow.Column(
      "WHAT TO DO", key: "advice",
      value: { row in
        .text(
          trouble.flatMap(ErrorTable.advice) ?? (row.state == .interrupted ? Self.inPart : nil))
      })
    let waits = JobRow.Column(
      "DOES NOT START", key: "obstacle",
      value: { row in
        .text(
          row.state == .paused
            ? "it is paused; let it go on with: haul resume \(id)"
            : obstacle?.sentence(of: "\(id)"))
      })
    let listing = Listing(JobRow.columns + JobRow.moreColumns + [machine, process, waits, advice])
    if output.isJSON {
      let history = Listing(AttemptRow.columns + AttemptRow.moreColumns)
      let objects = attempts.map { JSONValue.object(history.members($0)) }
      let members = listing.members(job) + [.init("attempts", .array(objects))]
      try StandardStream.output.write(OutputOptions.json(members))
    } else {
      let screen = OutputOptions.screen
      let history = Listing(AttemptRow.columns, note: AttemptRow.failure)
      let table = attempts.isEmpty ? "" : "\n" + history.table(attempts, on: screen)
      try StandardStream.output.write(listing.facts(job, on: screen) + table)
    }
  }
}
