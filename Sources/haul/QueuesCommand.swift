import Arguments
import JobQueue
import Terminal

struct QueuesCommand: HaulCommand {
  static let name = "queues"
  static let abstract = "List queues with what waits and runs in them."
  static let discussion = """
    WORKERS counts live workers that mount the store: with 0 nothing starts. HELD counts paused jobs; \
    PAUSED says whether the whole queue is.

    Each store has a queue of its name; default, on the first store, takes what is submitted without --queue.
    """
  static let examples = [
    Example("haul queues", "All queues."), Example("haul queues --json", "For a program."),
  ]
  static let options: [Option<Self>] = group(\.output) + group(\.database)

  var output = OutputOptions()
  var database = DatabaseOptions()

  func perform() async throws {
    let rows = try await database.withQueue { try await $0.queues() }
    try output.print(rows, QueueRow.columns)
  }
}

extension QueueRow {
  typealias Column = Listing<QueueRow>.Column

  static let columns: [Column] = [
    Column("QUEUE", key: "queue", value: { .string($0.queue) }),
    Column("STORE", key: "store", value: { .string($0.store) }),
    Column("QUEUED", key: "queued", .right, value: { .number($0.queued) }),
    Column("SCHEDULED", key: "scheduled", .right, value: { .number($0.scheduled) }),
    Column("RUNNING", key: "running", .right, value: { .number($0.running) }),
    Column("INTERRUPTED", key: "interrupted", .right, value: { .number($0.interrupted) }),
    Column("HELD", key: "held", .right, value: { .number($0.held) }),
    Column(
      "RATE", key: "rate", .right, value: { .number($0.rate) },
      text: { HumanFormat.rate($0.rate) }),
    Column(
      "PAUSED", key: "paused", value: { .bool($0.paused) },
      text: { $0.paused ? "yes" : "no" }, style: { $0.paused ? .yellow : nil }),
    Column(
      "WORKERS", key: "workers", .right, value: { .number($0.workers) },
      style: { $0.workers == 0 ? .yellow : nil }),
  ]
}
