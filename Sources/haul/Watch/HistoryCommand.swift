import Arguments
import JobQueue
import Reports
import Terminal

struct HistoryCommand: HaulCommand {
  static let name = "history"
  static let abstract = "List the commands that changed jobs, queues, hosts or workers."
  static let discussion = """
    The newest commands come first. Each line shows the PostgreSQL login, the target and how many jobs \
    changed. Haul keeps the newest 10,000 commands. It leaves out commands on jobs that changed no job. \
    Submissions are listed as batches: see 'haul batches'.
    """
  static let examples = [
    Example("haul history", "Lists the latest commands."),
    Example("haul history --limit 1000 --json", "Prints more commands as JSON."),
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
