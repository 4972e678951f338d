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

    With --manifest, Haul lists the files of completed jobs instead, so that others can check their copies. \
    'sha256sum -c' and 'haul verify --manifest' read the format sha256sums. JSON lines and CSV contain path, \
    length, digest, URL, validator (ETag or Last-Modified), the time when the job completed, store and job. \
    A manifest leaves out removed jobs, replaced files, and files of jobs that download again. It hides \
    signatures of URLs, unless you use --complete-urls.
    """
  static let examples = [
    Example("haul export --queue films", "Exports all jobs of one queue."),
    Example(
      "haul export --batch films --left",
      "Exports the jobs of the batch films that are not completed."),
    Example(
      "haul export --state failed --error http_404 --format plain",
      "Lists the URLs that servers answered with 404."),
    Example(
      "haul export --manifest sha256sums --batch monday",
      "Writes the SHA-256 of each finished file of a batch."),
  ]
  static let options: [Option<Self>] =
    [
      .value("format", "<format>", \.format, "The format of the list. Default: jsonl."),
      .flag("left", \.left, "Skip completed jobs."),
      .value(
        "manifest", "<format>", \.manifest,
        "List finished files instead, with their digests, in this format."),
      .value("store", "<name>", \.store, "With --manifest, list only files of this store.")
        .from(.names("store")),
      .flag(
        "complete-urls", \.showsSecrets,
        "With --manifest, write complete URLs. Signatures in them may let readers download files."),
    ] + group(\.selectors) + group(\.database)
  static let operands: [Operand<Self>] = [
    .repeated("id", \.ids, isRequired: false, "Ids of jobs.")
  ]
  static let remarks = [
    "--format": "To list finished files with their SHA-256, use --manifest sha256sums."
  ]

  /// The number of jobs to read from the database with one query.
  static let page = 10_000

  var ids: [Int64] = []
  var format: ListFormat?
  var left = false
  var manifest: ManifestFormat?
  var store: String?
  var showsSecrets = false
  var selectors = SelectorOptions()
  var database = DatabaseOptions()

  func perform() async throws {
    try checkOptions()
    if let manifest { return try await writeManifest(manifest) }
    let writer = ListWriter(format ?? .jsonl)
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
