import Arguments
import HaulSystem
import JobQueue
import Reports
import Terminal

struct ReportCommand: HaulCommand {
  static let name = "report"
  static let abstract = "Count files and bytes by queue, batch, host, worker or day."
  static let discussion = """
    FILES and FAILED count jobs that completed or failed. A job that completes again, for example after \
    'haul retry' or a refresh, counts again. Cancelled jobs do not count. BYTES is the total size of the completed \
    files. FETCHED counts the bytes received over the network in all attempts, also in those that failed or that \
    another worker continued. FETCHED is 0 if a refresh finds the file unchanged.

    Days are in UTC, by the clock of the database. The report begins with the whole day that contains the \
    time in --since. The dash in place of a name stands for jobs without a batch, or for jobs that failed without \
    a worker.

    The totals stay when jobs, queues or workers are removed. Haul keeps them for 400 days. After 35 days it keeps \
    only the 100 largest names of each day, and the name * stands for the others. It counts queues, \
    batches, hosts and workers separately, so it cannot say which hosts a queue used. JSON and CSV contain \
    plain numbers and no total.
    """
  static let examples = [
    Example("haul report", "Shows how much each queue downloaded in the last week."),
    Example(
      "haul report --since 30d --by host --limit 10",
      "Shows the ten hosts with the most bytes in the last 30 days."),
    Example(
      "haul report --by day --queue films --format csv", "Prints the days of one queue as CSV."),
  ]
  static let options: [Option<Self>] =
    [
      .value(
        "since", "<time>", \.since,
        "Count from the day of this time: a duration before now such as 7d, or a time such as 2026-11-21T18:00:00Z."
      ),
      .value("by", "<kind>", \.by, "Group by queue, batch, host, worker or day."),
      .value("queue", "<name>", \.queue, "Count only this queue, with --by queue or --by day.")
        .from(.names("queue")),
      .value("batch", "<name>", \.batch, "Count only this batch, with --by batch or --by day.")
        .from(.names("batch")),
      .value("host", "<name>", \.host, "Count only this host, with --by host or --by day.")
        .from(.names("host")),
      .value("format", "<format>", \.format, "The format of the report."),
    ] + group(\.limit) + group(\.output) + group(\.database)

  /// A format for the report besides JSON.
  enum Format: String, CaseIterable, OptionValue {
    case table, csv
  }

  var since = TimeArgument.duration(.seconds(7 * 86_400))
  var by = UsageKind.queue
  var queue: String?
  var batch: String?
  var host: HostArgument?
  var format = Format.table
  var limit = LimitOptions()
  var output = OutputOptions()
  var database = DatabaseOptions()

  func perform() async throws {
    if output.isJSON, format == .csv {
      throw ExitError(.usage, "you cannot use --json and --format csv together.")
    }
    let only = try onlyName()
    let report = try await database.withQueue { queue in
      var selector = UsageSelector(by: by, since: try await firstTime(queue))
      selector.only = only
      return try await queue.usage(selector, limit: limit.asked)
    }
    let columns = UsageRow.columns(by: by)
    if format == .csv {
      try StandardStream.output.write(
        Listing(columns).csv(Array(report.rows.prefix(limit.limit))))
      guard report.rows.count > limit.limit else { return }
      StandardStream.say(
        "haul report: the report has more than the \(limit.limit) rows shown. Use --limit to show more\n"
      )
      return
    }
    try output.print(
      report.rows, upTo: limit, label: "haul report", columns, last: report.totalRow)
  }

  /// Returns the time in `since`, in seconds since 1970. Before 1970 there was no pool.
  private func firstTime(_ queue: JobQueue) async throws -> Double {
    switch since {
    case .duration(let age): max(try await queue.time() - age / .seconds(1), 0)
    case .at(let time): max(time, 0)
    }
  }

  /// Returns the only queue, batch or host to count; nil to count all.
  private func onlyName() throws(ExitError) -> (kind: UsageKind, name: String)? {
    let given: [(kind: UsageKind, name: String)] = [
      (.queue, queue), (.batch, batch), (.host, host?.argument),
    ].compactMap { (kind, name) in name.map { (kind, $0) } }
    guard let only = given.first else { return nil }
    if given.count > 1 {
      throw ExitError(
        .usage,
        "give only one of --queue, --batch and --host. Haul counts queues, batches and hosts separately."
      )
    }
    let kind = only.kind.rawValue
    guard by == .day || by == only.kind else {
      throw ExitError(
        .usage,
        "--\(kind) works only with --by \(kind) and --by day. Haul counts queues, batches, hosts and workers separately."
      )
    }
    return only
  }
}

extension UsageKind: OptionValue {}
