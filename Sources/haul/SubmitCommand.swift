import Arguments
import JobQueue
import ListFormats
import Log
import Terminal
import Transfer

struct SubmitCommand: HaulCommand {
  static let name = "submit"
  static let abstract = "Submit URLs as jobs, all or none."
  static let discussion = """
    Everything is checked before anything is sent: a wrong line ends the command with 65 and its \
    number. What is in the queue already is skipped, and queued again if it had failed, so that a \
    submission can be repeated. A file ends up in the queue's store under host/path/name.

    A list has one URL a line; blank lines and lines that start with # are skipped. No user name, \
    password or token may be in a URL: the database would keep it.
    """
  static let examples = [
    Example("haul submit https://example.org/a.iso --out a.iso", "One file under a chosen name."),
    Example(
      "haul submit -i list.txt --queue films --batch monday --wait",
      "A list, until all of it has ended; exits with 1 if some failed."),
  ]
  static let options: [Option<Self>] =
    [
      .value("input", short: "i", "<file>", \.input, "Read a list of URLs; - is standard input.")
        .from(.files),
      .value("queue", "<name>", \.queue, environment: "HAUL_QUEUE", "The queue to submit to.")
        .from(.names("queue")),
      .value("batch", "<name>", \.batch, "A name to select these jobs by.").from(.names("batch")),
      .value("priority", "<n>", \.priority, in: 0...9, "From 0, first, to 9, last."),
      .value("out", short: "o", "<path>", \.out, "Where a single URL's file goes in the store."),
      .value(
        "checksum", "<alg=digest>", \.checksum, "The digest that a single URL's file must have."),
      .flag("record-digest", \.recordDigest, "Keep the SHA-256 of each file for 'haul verify'."),
      .value(
        "limit-rate", "<size>", \.limitRate,
        "At most so many bytes a second, each job by itself."),
      .value(
        "not-before", "<when>", \.notBefore, "Start no earlier: 90s, 1h30m, or an RFC 3339 time."),
      .flag(
        "wait", \.wait,
        "Wait until these jobs have ended, those that were in the queue already too; with --batch the whole batch."
      ),
    ] + group(\.progress) + group(\.output) + group(\.choices) + group(\.database)
  static let operands: [Operand<Self>] = [
    .repeated("url", \.urls, isRequired: false, "http or https URLs.")
  ]

  var urls: [String] = []
  var input: String?
  var queue = "default"
  var batch: String?
  var priority = 5
  var out: String?
  var checksum: ExpectedDigest?
  var recordDigest = false
  var limitRate: RateArgument?
  var notBefore: NotBefore?
  var wait = false
  var progress = ProgressOptions()
  var output = OutputOptions()
  var choices = JobChoices()
  var database = DatabaseOptions()

  func perform() async throws {
    try checkUsage()
    let lines = try await readLines()
    let batch = batch ?? (wait ? Self.inventBatch() : nil)
    var options = choices.options
    options.recordDigest = recordDigest ? true : nil
    options.maxRate = limitRate?.rate.bytes
    let (reply, jobs) = try await database.withQueue {
      [options] queue -> (SubmitReply, AwaitedJobs?) in
      let submission = Submission(
        queue: self.queue, batch: batch, priority: priority, options: options,
        after: try await delay(queue))
      let reply = try await queue.submit(submission, lines)
      guard wait, let batch else { return (reply, nil) }
      return (reply, try await awaited(reply, lines, batch: batch, queue))
    }
    try report(reply, batch: batch)
    if let jobs {
      try await BatchWait(
        jobs: jobs, label: "haul submit", database: database, output: output,
        display: progress.display(label: "haul submit")
      ).run()
    }
  }

  /// What is to be waited for: the batch, and the jobs that the lines have met outside it.
  private func awaited(
    _ reply: SubmitReply, _ lines: [SubmitLine], batch: String, _ queue: JobQueue
  ) async throws -> AwaitedJobs {
    if reply.skipped + reply.requeued == 0 { return AwaitedJobs(batch: batch) }
    let others = try await queue.jobs(
      at: lines.map(\.path), inStoreOf: self.queue, besides: batch)
    return AwaitedJobs(batch: batch, others: others)
  }

  /// A name for a batch that the user did not name.
  private static func inventBatch() -> String {
    "submit-" + String(UInt64.random(in: 1 << 60...UInt64.max), radix: 16)
  }

  private func checkUsage() throws(ExitError) {
    if urls.isEmpty && input == nil {
      throw ExitError(.usage, "no URL is given: name some, or a list with --input.")
    }
    if !urls.isEmpty && input != nil {
      throw ExitError(.usage, "URLs and --input do not go together.")
    }
    if urls.count != 1 && (out != nil || checksum != nil) {
      throw ExitError(.usage, "--out and --checksum need exactly one URL.")
    }
  }

  private func readLines() async throws -> [SubmitLine] {
    let reader = SubmissionReader()
    if let input { return try await reader.lines(ofList: input) }
    return try reader.lines(ofURLs: urls, path: out, digest: checksum)
  }

  /// A time is measured by the database's clock, like all others.
  private func delay(_ queue: JobQueue) async throws -> Duration? {
    switch notBefore {
    case nil: nil
    case .after(let duration): duration
    case .at(let seconds): try await queue.time(until: seconds)
    }
  }

  private func report(_ reply: SubmitReply, batch: String?) throws {
    try output.print(
      [
        .init("submitted", .number(reply.submitted)), .init("skipped", .number(reply.skipped)),
        .init("requeued", .number(reply.requeued)), .init("batch", .text(batch)),
      ],
      orSay: "submitted \(counted(reply.submitted, "job")), \(reply.skipped) already there, "
        + "\(reply.requeued) queued again")
  }
}
