import Arguments
import JobQueue
import Reports
import Terminal

struct HistoryCommand: HaulCommand {
  static let name = "history"
  static let abstract = "List the commands that changed jobs, queues, hosts or workers."
  static let discussion = """
    The newest commands come first, with the PostgreSQL login that gave them, what they were given and how many jobs they changed. \
    Haul keeps the newest 10,000. A command on jobs is left out if it changed none. Submissions are batches: see 'haul batches'.
    """
  static let examples = [
    Example("haul history", "What operators did lately."),
    Example("haul history --limit 1000 --json", "The same for a program."),
  ]
  static let options: [Option<Self>] = group(\.limit) + group(\.output) + group(\.database)

  var limit = LimitOptions()
  var output = OutputOptions()
  var database = DatabaseOptions()

  func perform() async throws {
    let rows = try await database.withQueue { try await $0.operations(limit: limit.asked) }
    try output.print(
      rows, upTo: limit, label: "haul history", OperationRow.columns, json: OperationRow.moreColumns
    )
  }
}
