import Arguments
import HaulSystem
import JobModel
import JobQueue
import ListFormats

struct ExportCommand: HaulCommand {
  static let name = "export"
  static let role: PoolRole? = .submitter
  static let abstract = "Write jobs as a list that 'haul submit -i' takes."
  static let discussion = """
    JSON lines and CSV have all that a job was submitted with but its batch and queue; an input file of aria2 has \
    path, digest and headers, TsvHttpData-1.0 length and MD5, plain lines the URLs alone. Signed URLs are written \
    whole. 'haul export --state failed | haul submit -i -' tries again what has failed. \
    Without a selector it is all jobs of the pool. The list is written as it is read, in the order of submission.
    """
  static let examples = [
    Example("haul export --queue films", "All jobs of one queue."),
    Example(
      "haul export --batch films --left", "What is not completed of the batch films."),
    Example(
      "haul export --state failed --error http_404 --format plain",
      "The URLs that the servers did not have."),
  ]
  static let options: [Option<Self>] =
    [
      .value("format", "<format>", \.format, "How to write the list."),
      .flag("left", \.left, "Leave out completed jobs."),
    ] + group(\.selectors) + group(\.database)
  static let operands: [Operand<Self>] = [
    .repeated("id", \.ids, isRequired: false, "Ids of jobs.")
  ]

  /// Jobs read from the database at once.
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
  /// The entry that submits a job like this one.
  init(_ job: ExportedJob) {
    self.init(line: 0, url: job.url, path: job.path)
    priority = job.priority
    options = job.options
  }
}
