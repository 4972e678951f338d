import Arguments
import JobModel
import JobQueue
import ListFormats
import Submitting
import Terminal

struct ReplaceURLCommand: HaulCommand {
  static let name = "replace-url"
  static let role: PoolRole? = .submitter
  static let abstract = "Give jobs new URLs, as when signed URLs have expired."
  static let discussion = """
    Each line of the file is a new URL, for the job whose URL differs in its query alone, or an old URL and a new one \
    with a blank between them. Jobs that wait, are paused, run or have failed are asked for again under the new URL; \
    what is completed or cancelled stays as it is. A running job is stopped first: one that ends meanwhile is asked for \
    again, and after an interruption of this command it may be left paused. The same command again goes on.

    Where only the query differs, the job goes on where it stopped, after 64 KiB have been compared with what is \
    there. Otherwise it begins anew.
    """
  static let examples = [
    Example(
      "haul replace-url --batch films --map signed.txt", "New signatures for the batch films."),
    Example(
      "haul replace-url --batch films --map signed.txt --skip-bad",
      "The same, where the file has URLs of other jobs too."),
  ]
  static let options: [Option<Self>] =
    [
      .value("batch", "<name>", \.batch, "The batch of the jobs; must be given.")
        .from(.names("batch")),
      .value(
        "map", "<file>", \.map, "The new URLs; - is standard input. Must be given."
      ).from(.files),
      .flag("skip-bad", \.skipsBad, "Leave out lines that are wrong or that fit no job."),
    ] + group(\.progress) + group(\.output) + group(\.database)

  /// Jobs that are read at once.
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
    let replaced = try await database.withQueue { queue in
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
      orSay: "\(counted(replaced, "job")) asked for under new URLs"
        + (replacement.same > 0 ? ", \(replacement.same) had theirs already" : ""))
  }

  /// Shows the batch's jobs to `replacement`.
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
      let reply = try await queue.submit(
        submission, AsyncStream(lines), observe: { progress.take($0) })
      replaced += reply.replaced + reply.submitted
    }
    return replaced
  }
}
