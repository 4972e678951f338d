import Arguments
import JobModel
import JobQueue
import ListFormats
import Submitting
import Terminal

struct ReplaceURLCommand: HaulCommand {
  static let name = "replace-url"
  static let role: PoolRole? = .submitter
  static let abstract = "Give jobs new URLs, for example after signed URLs have expired."
  static let discussion = """
    Each line of the file is a new URL, or an old URL, a space and a new URL. A line with only a new URL \
    applies to the job whose URL is the same up to the '?'. Haul does not change the mirrors of a job.

    The command first stops running jobs. Then it queues every job that has a new URL, including failed and \
    paused jobs. It does not change completed or cancelled jobs. If you interrupt the command, some jobs may \
    stay paused: run the command again.

    Haul resumes a part file if only the query of the URL differs, or if the server sends the same strong ETag \
    for both URLs. It first compares 64 KiB from the new URL with the part file. In all other cases the \
    download starts from the first byte.
    """
  static let examples = [
    Example(
      "haul replace-url --batch films --map signed.txt",
      "Gives the jobs of the batch films new signed URLs."),
    Example(
      "haul replace-url --batch films --map signed.txt --skip-bad",
      "Gives the jobs of films new URLs, and skips URLs that match no job."),
  ]
  static let options: [Option<Self>] =
    [
      .value("batch", "<name>", \.batch, "The batch of the jobs. Required.")
        .from(.names("batch")),
      .value(
        "map", "<file>", \.map, "The file with the new URLs. - is standard input. Required."
      ).from(.files),
      .flag("skip-bad", \.skipsBad, "Skip lines that are wrong or match no job."),
    ] + group(\.progress) + group(\.output) + group(\.database)

  /// The number of jobs to read with one query.
  private static let page = 1000

  var batch: BatchName?
  var map: String?
  var skipsBad = false
  var progress = ProgressOptions()
  var output = OutputOptions()
  var database = DatabaseOptions()

  func perform() async throws {
    guard let batch else { throw ExitError(.usage, "option '--batch' is missing.") }
    guard let map else { throw ExitError(.usage, "option '--map' is missing.") }
    let display = progress.display(label: "haul replace-url")
    defer { display.finish() }
    let problems = LineProblems()
    var reader = SubmissionReader(
      label: "haul replace-url", display: display, describe: { ExitError(from: $0).message ?? "" })
    reader.participle = "changed"
    let source = ListSource(argument: map)
    let items: [URLMap.Item]
    do throws(ListError) {
      items = try await URLMap.read(source)
    } catch {
      throw reader.error(error, in: source.name)
    }
    var replacement = URLReplacement(items, of: source.name, reader, problems)
    let replaced = try await database.writing.withQueue { queue in
      try await take(jobsOf: batch.argument, queue, &replacement)
      let found = replacement.lines()
      if !skipsBad, let error = problems.error(listedOn: display, nothing: "Nothing was changed.") {
        throw error
      }
      return try await replace(found, batch.argument, queue, display)
    }
    problems.listLeftOut(on: display, label: "haul replace-url")
    display.clear()
    try output.print(
      [.init("replaced", .number(replaced)), .init("unchanged", .number(replacement.same))],
      orSay: "\(counted(replaced, "job")) got \(replaced == 1 ? "a new URL" : "new URLs")"
        + (replacement.same > 0 ? ", and \(replacement.same) already had the new URL" : ""))
  }

  /// Matches all jobs of the batch with `replacement`.
  private func take(
    jobsOf batch: String, _ queue: JobQueue, _ replacement: inout URLReplacement
  ) async throws {
    var selector = JobSelector()
    selector.batch = batch
    var done: Set<Int64> = []
    for state in [JobState.completed, .cancelled] {
      selector.state = state
      try await each(selector, queue) { done.insert($0.job) }
    }
    selector.state = nil
    for row in try await queue.queues() {
      selector.queue = row.queue
      try await each(selector, queue) { job in
        replacement.take(job, in: row.queue, isDone: done.contains(job.job))
      }
    }
  }

  private func each(
    _ selector: JobSelector, _ queue: JobQueue, _ body: (ExportedJob) -> Void
  ) async throws {
    var last: Int64 = 0
    while true {
      let jobs = try await queue.export(selector, left: false, after: last, limit: Self.page)
      jobs.forEach(body)
      guard let end = jobs.last?.job, jobs.count == Self.page else { return }
      last = end
    }
  }

  private func replace(
    _ found: [(queue: String, lines: [SubmitLine])], _ batch: String, _ queue: JobQueue,
    _ display: ProgressDisplay
  ) async throws -> Int {
    let progress = SubmitProgress(on: display)
    var replaced = 0
    for (name, lines) in found where !lines.isEmpty {
      var submission = Submission(queue: name, batch: batch)
      submission.onDuplicate = .replace
      submission.keepsEnded = true
      let reply = try await queue.submit(
        submission, AsyncStream(lines), observe: { progress.take($0) })
      replaced += reply.replaced + reply.submitted
    }
    return replaced
  }
}
