import Arguments
import HaulSystem
import JobQueue
import Reports
import Terminal

struct HistoryCommand: HaulCommand {
  static let name = "history"
  static let abstract = "List the commands that changed jobs, queues, hosts or workers."
  static let discussion = """
    The newest commands come first. Each line shows the PostgreSQL login, the target and how many jobs \
    changed. Give the ID of a command to see which jobs it changed. Haul keeps the newest 10,000 commands. The \
    list omits commands on jobs if they changed no job. It shows a submission only if the submission changed \
    existing jobs. New jobs are in 'haul jobs' and 'haul batches'.
    """
  static let examples = [
    Example("haul history", "Lists the latest commands."),
    Example("haul history --batch films", "Lists the commands on the batch films."),
    Example("haul history 2", "Shows which jobs command 2 changed."),
    Example("haul history --limit 1000 --json", "Prints up to 1,000 commands as JSON."),
  ]
  static let options: [Option<Self>] =
    [
      .value("batch", "<name>", \.batch, "List only commands that name this batch.").from(
        .names("batch"))
    ] + group(\.limit) + group(\.output) + group(\.database)
  static let operands: [Operand<Self>] = [
    .repeated("id", \.ids, isRequired: false, "The ID of a command, as 'haul history' shows it.")
  ]

  var ids: [Int64] = []
  var batch: String?
  var limit = LimitOptions()
  var output = OutputOptions()
  var database = DatabaseOptions()

  func perform() async throws {
    if !ids.isEmpty {
      guard batch == nil else { throw ExitError(.usage, "give ids or --batch, not both.") }
      return try await show()
    }
    let rows = try await database.withQueue {
      try await $0.operations(batch: batch, limit: limit.asked)
    }
    try output.print(
      rows, upTo: limit, label: "haul history", OperationRow.columns, json: OperationRow.moreColumns
    )
  }

  /// Prints the commands of the history with the ids that the user gave, and the jobs that they changed.
  private func show() async throws {
    let rows = try await database.withQueue { [ids] queue in
      var rows: [OperationRow] = []
      for id in ids {
        guard let row = try await queue.operation(id) else {
          throw ExitError(.badInput, "there is no command \(id) in the history.")
        }
        rows.append(row)
      }
      return rows
    }
    let listing = Listing(OperationRow.columns + OperationRow.moreColumns)
    for row in rows {
      try StandardStream.output.write(
        output.isJSON
          ? OutputOptions.json(listing.members(row)) : listing.facts(row, on: OutputOptions.screen))
    }
  }
}
