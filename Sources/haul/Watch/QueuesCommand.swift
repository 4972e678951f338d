import Arguments
import JobQueue
import Reports
import Terminal

struct QueuesCommand: HaulCommand {
  static let name = "queues"
  static let abstract = "List queues with what waits and runs in them."
  static let discussion = """
    RUNNING is 3 of 10 where a limit is set. WORKERS counts live workers that serve the queue, which mount its store and claim from it: with 0 nothing starts. \
    HELD counts paused jobs; PAUSED says whether the whole queue is.

    Each store has a queue of its name; default, on the first store, takes what is submitted without --queue.
    """
  static let examples = [
    Example("haul queues", "All queues."), Example("haul queues --json", "For a program."),
  ]
  static let options: [Option<Self>] =
    group(\.limit) + group(\.output) + group(\.database)
  static let operands: [Operand<Self>] = [
    .repeated("queue", \.names, isRequired: false, "Names of queues; all without.").from(
      .names("queue"))
  ]

  var names: [String] = []
  var limit = LimitOptions()
  var output = OutputOptions()
  var database = DatabaseOptions()

  func perform() async throws {
    let rows = try await database.withQueue { try await $0.queues(names, limit: limit.asked) }
    try output.print(
      rows, upTo: limit, label: "haul queues", QueueRow.columns, json: QueueRow.moreColumns,
      note: QueueRow.settings)
  }
}
