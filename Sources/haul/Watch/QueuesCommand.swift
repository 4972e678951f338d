import Arguments
import JobQueue
import Reports
import Terminal

struct QueuesCommand: HaulCommand {
  static let name = "queues"
  static let abstract = "List queues, and count their waiting and running jobs."
  static let discussion = """
    RUNNING shows 3 of 10 if 3 jobs of the queue run and its limit is 10. WORKERS counts live workers that \
    mount the store of the queue and claim its jobs. If WORKERS is 0, no job of the queue starts.

    HELD counts jobs that 'haul pause' paused. PAUSED says whether 'haul queue pause' paused the whole queue.

    Each store has a queue with the same name. The queue default is on the first store and takes jobs \
    submitted without --queue.
    """
  static let examples = [
    Example("haul queues", "Lists all queues."),
    Example("haul queues --json", "Prints all queues as JSON."),
  ]
  static let options: [Option<Self>] =
    group(\.limit) + group(\.output) + group(\.database)
  static let operands: [Operand<Self>] = [
    .repeated("queue", \.names, isRequired: false, "Names of queues. Default: all.").from(
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
