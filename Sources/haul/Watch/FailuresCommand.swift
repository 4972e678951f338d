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
    The latest hours first, with what went wrong with the first job of each line. When the cause is mended, 'haul retry --error \
    CLASS --host HOST' queues those jobs again. Reads all failed jobs.
    """
  static let examples = [
    Example("haul failures", "What fails lately, and where."),
    Example("haul failures --limit 1000 --json", "The same for a program."),
    Example("haul failures --error http_404", "Only files that their servers do not have."),
    Example("haul failures --batch films", "What failed of the batch films."),
  ]
  static let options: [Option<Self>] =
    [
      .value("batch", "<name>", \.batch, "Only jobs of this batch; reads all of it.")
        .from(.names("batch")),
      .value(
        "error", "<class>", \.error,
        "Only this class of error; http_4xx means http_403, http_404 and http_410 too."),
      .value("host", "<name>", \.host, "Only this host, with its port if unusual.")
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
        "haul failures: no job is in the state failed now. Jobs failed \(counted(Int(clamping: failed), "time")) in the last hour and were queued again.\n"
      )
    }
    try output.print(
      rows, upTo: limit, label: "haul failures", FailureRow.columns,
      json: FailureRow.moreColumns,
      note: { row in row.jobs > 1 ? row.message.map { "the first: \($0)" } : row.message })
  }
}
