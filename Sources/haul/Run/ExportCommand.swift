import Arguments
import HaulSystem
import JobModel
import JobQueue
import ListFormats

struct ExportCommand: HaulCommand {
  static let name = "export"
  static let role: PoolRole? = .submitter
  static let abstract = "Write jobs as a list that 'haul submit -i' can read."
  static let discussion = """
    JSON lines and CSV contain everything that was submitted with a job, except the batch and the queue. \
    Besides the URLs, an aria2 input file contains path, digest and headers, and TsvHttpData-1.0 contains \
    length and MD5. Plain lines contain only the URLs. Signed URLs keep their signatures.

    If you select no jobs, Haul exports all jobs of the pool, in the order in which they were submitted. To \
    try failed jobs again, run 'haul export --state failed | haul submit -i -'.
    """
  static let examples = [
    Example("haul export --queue films", "Exports all jobs of one queue."),
    Example(
      "haul export --batch films --left",
      "Exports the jobs of the batch films that are not completed."),
    Example(
      "haul export --state failed --error http_404 --format plain",
      "Lists the URLs that servers answered with 404."),
  ]
  static let options: [Option<Self>] =
    [
      .value("format", "<format>", \.format, "The format of the list."),
      .flag("left", \.left, "Skip completed jobs."),
    ] + group(\.selectors) + group(\.database)
  static let operands: [Operand<Self>] = [
    .repeated("id", \.ids, isRequired: false, "Ids of jobs.")
  ]

  /// The number of jobs to read from the database with one query.
  private static let page = 10_000

  var ids: [Int64] = []
  var format = ListFormat.jsonl
  var left = false
  var selectors = SelectorOptions()
  var database = DatabaseOptions()

  func perform() async throws {
    let writer = ListWriter(format)
    try await database.withQueue { queue in
      let selector = selectors.selector(ids: ids)
      var heading = writer.heading
      var last: Int64 = 0
      while true {
        let jobs = try await queue.export(selector, left: left, after: last, limit: Self.page)
        try StandardStream.output.write(
          heading + jobs.map { writer.lines(of: ListEntry($0)) }.joined())
        heading = ""
        guard let end = jobs.last?.job, jobs.count == Self.page else { return }
        last = end
      }
    }
  }
}

extension ListEntry {
  /// Creates the entry that submits a job like this one.
  init(_ job: ExportedJob) {
    self.init(line: 0, url: job.url, path: job.path)
    priority = job.priority
    options = job.options
  }
}
