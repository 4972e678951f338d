import Arguments
import JobQueue
import Reports
import Terminal

struct JobsCommand: HaulCommand {
  static let name = "jobs"
  static let abstract = "List jobs with their states, the next to run first."
  static let discussion = """
    Rows are ordered by state: running, interrupted, queued, scheduled, paused, failed, cancelled, completed. Those that wait stand as \
    they start: by priority, then the oldest first, and scheduled ones by their time. A host's limits may let later ones start \
    before. Of those that have ended the newest stand first.

    On a pool of millions name a batch, or narrow by id; other selectors may read every job. An error in parentheses is that \
    of the last try of a job that waits for another; --error selects jobs that have failed for good.
    """
  static let examples = [
    Example("haul jobs --batch films --state failed", "What failed of the batch films."),
    Example("haul jobs --json --limit 1000", "The first thousand jobs for a program."),
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
      try await $0.firstJobs(selectors.selector(ids: ids), limit: limit.asked)
    }
    try output.print(
      rows, upTo: limit, label: "haul jobs", JobRow.columns, json: JobRow.moreColumns,
      note: JobRow.due)
  }
}
