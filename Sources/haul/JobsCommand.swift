import Arguments
import JobQueue
import Terminal

struct JobsCommand: HaulCommand {
  static let name = "jobs"
  static let abstract = "List jobs with their states, the newest first."
  static let discussion = """
    On a pool of millions name a batch, or narrow by id; other selectors may read every job. An error in parentheses is that \
    of the last try of a job that waits for another; --error selects jobs that have failed for good.
    """
  static let examples = [
    Example("haul jobs --batch films --state failed", "What failed of the batch films."),
    Example("haul jobs --json --limit 1000", "The last thousand jobs for a program."),
  ]
  static let options: [Option<Self>] =
    group(\.limit) + group(\.selectors) + group(\.output) + group(\.database)
  static let operands: [Operand<Self>] = [
    .repeated("id", \.ids, isRequired: false, "Ids of jobs.")
  ]

  var limit = LimitOptions()
  var ids: [Int64] = []
  var selectors = SelectorOptions()
  var output = OutputOptions()
  var database = DatabaseOptions()

  func perform() async throws {
    let rows = try await database.withQueue {
      try await $0.jobs(selectors.selector(ids: ids), limit: limit.asked)
    }
    try output.print(
      rows, upTo: limit.limit, label: "haul jobs", JobRow.columns, json: JobRow.moreColumns,
      note: JobRow.due)
  }
}

extension JobRow {
  typealias Column = Listing<JobRow>.Column

  /// What a table shows.
  static let columns: [Column] = [
    Column("JOB", key: "job", .right, value: { .number($0.job) }),
    Column(
      "STATE", key: "state", value: { .text($0.state) },
      style: { Style(state: $0.state ?? "") }),
    Column("QUEUE", key: "queue", value: { .string($0.queue) }),
    Column("HOST", key: "host", isName: true, value: { .string($0.host) }),
    Column(
      "BYTES", key: "bytes", .right, value: { .number($0.bytes) },
      text: { HumanFormat.bytes($0.bytes) }),
    Column(
      "TOTAL", key: "total", .right, value: { .number($0.total) },
      text: { $0.total.map(HumanFormat.bytes) ?? "-" }),
    Column(
      "ERROR", key: "error", value: { .text($0.error) },
      text: { $0.error ?? ($0.state == "running" ? nil : $0.lastError.map { "(\($0))" }) ?? "-" }),
    Column("PATH", key: "path", isName: true, value: { .string($0.path) }),
  ]

  /// What programs and the view of one job get besides.
  static let moreColumns: [Column] = [
    Column("URL", key: "url", value: { .string($0.url) }),
    Column("STORE", key: "store", value: { .string($0.store) }),
    Column("BATCH", key: "batch", value: { .text($0.batch) }),
    Column("PRIORITY", key: "priority", .right, value: { .number($0.priority) }),
    .time("SUBMITTED", key: "submitted_at") { $0.submittedAt },
    .time("NOT BEFORE", key: "run_at") { $0.runAt },
    .time("FINISHED", key: "finished_at") { $0.finishedAt },
    Column("WORKER", key: "worker", .right, value: { .number($0.worker) }),
    Column("TOKEN", key: "token", .right, value: { .number($0.token) }),
    Column(
      "DURABLE", key: "durable", .right, value: { .number($0.durable) },
      text: { $0.durable.map(HumanFormat.bytes) ?? "-" }),
    Column("DIGEST", key: "digest", value: { .text($0.digest) }),
    Column("MESSAGE", key: "message", value: { .text($0.message) }),
    Column("LAST ERROR", key: "last_error", value: { .text($0.lastError) }),
    Column(
      "OPTIONS", key: "options", value: { .object(($0.options ?? [:]).members) },
      text: { row in
        let words = (row.options ?? [:]).words
        return words.isEmpty ? "-" : words.joined(separator: ", ")
      }),
  ]

  /// When it may start: `not before 2026-11-21 15:30:12`; nil for what waits for no time.
  @Sendable static func due(_ row: JobRow) -> String? {
    row.runAt.map { "not before \(HumanFormat.time($0))" }
  }
}

extension Style {
  /// How a state of a job or a worker stands out; nil for those that need no eye.
  init?(state: String) {
    switch state {
    case "failed", "dead": self = .red
    case "interrupted", "paused", "silent", "draining": self = .yellow
    case "completed": self = .green
    case "cancelled", "stopped": self = .dim
    default: return nil
    }
  }
}
