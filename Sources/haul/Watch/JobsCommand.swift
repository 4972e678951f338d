import Arguments
import JobQueue
import Reports
import Terminal

struct JobsCommand: HaulCommand {
  static let name = "jobs"
  static let abstract = "List jobs and their states, running jobs first."
  static let discussion = """
    Jobs are ordered by state: running, interrupted, queued, scheduled, paused, failed, cancelled, \
    completed. Waiting jobs are listed in the order in which they start: by priority, then oldest first, and \
    scheduled jobs by their start time. Because of host limits, later jobs can start earlier. Ended jobs are \
    listed newest first.

    On a pool with millions of jobs, select a batch or ids. Other selectors may read every job. An error in \
    parentheses is from the last attempt of a job that waits for the next one. --error selects only jobs \
    that failed for good.
    """
  static let examples = [
    Example("haul jobs --batch films --state failed", "Lists the failed jobs of the batch films."),
    Example("haul jobs --json --limit 1000", "Prints the first thousand jobs as JSON."),
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
