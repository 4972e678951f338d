import Arguments
import JobQueue
import Reports
import Terminal

struct JobsCommand: HaulCommand {
  static let name = "jobs"
  static let abstract = "List jobs and their states, running jobs first."
  static let discussion = """
    Jobs are ordered by state:

      running      a worker downloads the file now
      interrupted  it was stopped, and continues from its part file
      queued       it is ready to start
      scheduled    it waits for its start time, or to try again after an error
      paused       it waits until you run 'haul resume'
      failed       it ended with an error. 'haul retry' queues it again
      cancelled    'haul cancel' ended it. 'haul retry' queues it again
      completed    its file is complete and in the store

    Haul lists queued jobs in the order in which they start: by priority, then oldest first. It lists scheduled \
    jobs by their start time. Because of host limits, later jobs can start earlier. Haul lists ended jobs \
    newest first. 'haul why' shows why jobs do not start.

    On a pool with millions of jobs, select a batch or ids. Other selections may read every job. An error in \
    parentheses is from the last attempt of a job that waits for its next attempt. --error selects only jobs \
    in the state failed. With --text, Haul lists the newest jobs first, whatever their state.
    """
  static let examples = [
    Example("haul jobs --batch films --state failed", "Lists the failed jobs of the batch films."),
    Example("haul jobs --text .iso", "Lists jobs with .iso in their path or URL, newest first."),
    Example("haul jobs --json --limit 1000", "Prints the first thousand jobs as JSON."),
  ]
  static let options: [Option<Self>] =
    [
      .value(
        "text", "<text>", \.text,
        "Show only jobs whose path or URL contains this text. Upper and lower case do not matter.")
    ] + group(\.limit) + group(\.selectors) + group(\.output) + group(\.database)
  static let operands: [Operand<Self>] = [
    .repeated("id", \.ids, isRequired: false, "Ids of jobs.")
  ]

  var text: String?
  var limit = LimitOptions()
  var ids: [Int64] = []
  var selectors = SelectorOptions()
  var output = OutputOptions()
  var database = DatabaseOptions()

  func perform() async throws {
    let selector = selectors.selector(ids: ids)
    let rows = try await database.withQueue { queue in
      if let text, !text.isEmpty {
        return try await queue.jobs(selector, containing: text, limit: limit.asked)
      }
      return try await queue.firstJobs(selector, limit: limit.asked)
    }
    try output.print(
      rows, upTo: limit, label: "haul jobs", JobRow.columns, json: JobRow.moreColumns,
      note: JobRow.due)
  }
}
