import Arguments
import HaulSystem
import JobModel
import JobQueue
import Reports
import Terminal

struct FailuresCommand: HaulCommand {
  static let name = "failures"
  static let abstract = "List failed jobs by error class, host and hour."
  static let discussion = """
    Each line stands for the jobs of one host that failed in the same hour with the same error class. It shows \
    the message of the first of these jobs. The latest hours come first. When you have repaired the cause, run \
    'haul retry --error CLASS --host HOST' to queue these jobs again. The command reads all failed jobs. \
    'haul job ID' explains the error of one job.
    """
  static let examples = [
    Example("haul failures", "Shows what failed recently, and on which hosts."),
    Example("haul failures --limit 1000 --json", "Prints up to 1,000 lines as JSON."),
    Example("haul failures --error http_404", "Shows only files that do not exist on the server."),
    Example("haul failures --batch films", "Shows the failures of the batch films."),
  ]
  static let options: [Option<Self>] =
    [
      .value(
        "batch", "<name>", \.batch, "Show only jobs of this batch. Haul reads the whole batch."
      ).from(.names("batch")),
      .value(
        "error", "<class>", \.error,
        "Show only this class of error. http_4xx includes http_403, http_404 and http_410."),
      .value(
        "host", "<name>", \.host, "Show only this host. Add the port if it is not the default port."
      )
      .from(.names("host")),
    ] + group(\.limit) + group(\.output) + group(\.database)

  var batch: String?
  var error: ErrorClass?
  var host: HostArgument?
  var limit = LimitOptions()
  var output = OutputOptions()
  var database = DatabaseOptions()

  func perform() async throws {
    let (rows, failed) = try await database.withQueue { queue in
      var selector = JobSelector()
      selector.batch = batch
      selector.host = host?.argument
      if selector != JobSelector() { try await queue.requireNames(selector) }
      selector.error = error
      let rows = try await queue.failures(of: selector, limit: limit.asked)
      let isAll = selector == JobSelector()
      return (rows, rows.isEmpty && isAll ? try await queue.failedLately() : 0)
    }
    if failed > 0 {
      StandardStream.say(
        "haul failures: no job is in the state failed now. In the last hour jobs failed \(counted(Int(clamping: failed), "time")). They were queued again or removed.\n"
      )
    }
    try output.print(
      rows, upTo: limit, label: "haul failures", FailureRow.columns,
      json: FailureRow.moreColumns,
      note: { row in
        row.jobs > 1 ? row.message.map { "message of the first job: \($0)" } : row.message
      })
  }
}
