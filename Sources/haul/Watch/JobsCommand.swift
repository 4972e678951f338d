import Arguments
import JobQueue
import Reports
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
