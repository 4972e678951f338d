import Arguments
import HaulSystem
import HaulTransfer
import JobModel
import JobQueue
import ListFormats
import Reports
import Submitting
import Terminal

struct SubmitCommand: HaulCommand {
  static let name = "submit"
  static let role: PoolRole? = .submitter
  static let abstract = "Submit URLs as jobs."
  static let options: [Option<Self>] =
    [
      .value(
        "on-duplicate", "<policy>", \.onDuplicate,
        """
        What to do if a job with the same path exists. skip ignores the line if it has the same URL as the \
        job. refresh downloads the file again if the source has changed. replace replaces the job. error \
        treats the line as wrong. For existing files, see --if-exists.
        """
      ),
      .value("queue", "<name>", \.queue, environment: "HAUL_QUEUE", "The queue to submit to.")
        .from(.names("queue")),
      .value(
        "batch", "<name>", \.batch,
        "The batch of these jobs. Other commands can select the jobs by this name."
      ).from(.names("batch")),
      .value(
        "priority", "<n>", \.priority, in: 0...9,
        "The priority, from 0 (first) to 9 (last). Default: 5."),
      .value(
        "out", short: "o", "<path>", \.out,
        "Where to save the file of a single URL: a path in the store."),
      .value(
        "checksum", "<alg=digest>", \.checksum,
        "The digest that the file of a single URL must have."),
      .value(
        "not-before", "<when>", \.notBefore,
        "Do not start before this time: a duration from now such as 1h30m, or an RFC 3339 time."),
      .flag(
        "wait", \.wait,
        "Wait until these jobs have ended, including jobs that were already in the queue. With --batch, wait for the whole batch. Then exit with 0 if all jobs are completed, and with 1 if some failed or were cancelled. Ctrl-C ends only the wait."
      ),
      .flag(
        "quiet", short: "q", \.progress.isQuiet,
        """
        Print only the batch name. Without a batch, print the first and the last job id. Warnings still go to standard \
        error.
        """),
    ] + group(\.output) + group(\.list) + group(\.choices) + group(\.database)
  static let habits = JobOptionTable.habits
  static let operands: [Operand<Self>] = [
    .repeated(
      "url", \.urls, isRequired: false,
      "http or https URLs. ftp, ftps and sftp URLs need workers with --allow-scheme.")
  ]

  var urls: [String] = []
  var list = ListOptions()
  var onDuplicate = Submission.OnDuplicate.skip
  var queue = "default"
  var batch: BatchName?
  var priority: Int?
  var out: String?
  var checksum: ExpectedDigest?
  var notBefore: TimeArgument?
  var wait = false
  var progress = ProgressOptions()
  var output = OutputOptions()
  var choices = SubmitJobOptions()
  var database = DatabaseOptions()

  func perform() async throws {
    try checkUsage()
    let options = try choices.options()
    let batch = batch?.argument ?? (wait ? Self.inventBatch() : nil)
    let display = progress.display(label: "haul submit")
    defer { display.finish() }
    let problems = LineProblems()
    let reach = AskedReach()
    let lines = try await begin(display, problems, reach)
    let reply: SubmitReply
    var warnings: [String] = []
    do {
      reply = try await database.writing.withQueue { queue in
        var submission = Submission(
          queue: self.queue, batch: batch, priority: priority ?? 5, options: options,
          after: try await delay(queue))
        submission.onDuplicate = onDuplicate
        submission.skipsConflicts = list.skipBad
        submission.wantsOthers = wait
        let reply = try await submit(submission, lines, queue, problems, display)
        // The jobs are submitted, even if this query fails.
        let service = reply.hasWork ? try? await queue.service(of: self.queue) : nil
        let needs = reach.needs
        warnings =
          service?.warnings(queue: self.queue, schemes: needs.schemes, addresses: needs.addresses)
          ?? []
        if let batch, reply.hasWork, service?.paused == false {
          let row = try? await queue.batches([batch], limit: 1).first
          warnings += [row?.noteOnSubmission].compactMap { $0 }
        }
        return reply
      }
    } catch {
      throw conclude(error, problems, display)
    }
    add(reply.conflicts, to: problems)
    problems.listLeftOut(on: display, label: "haul submit")
    try report(reply, batch: batch, display)
    for warning in warnings { display.say("haul submit: \(warning)", as: .warning) }
    if wait, let batch {
      try await BatchWait(
        jobs: AwaitedJobs(batches: [batch], others: reply.others), label: "haul submit",
        database: database.configuration, display: display
      ) { [output, progress] members, sentence in
        if output.isJSON || !progress.isQuiet { try output.print(members, orSay: sentence) }
      }.run()
    }
  }

  /// The lines to submit.
  private enum Lines {
    case given([SubmitLine])
    case list(SubmissionPieces)
  }

  /// Reads as much as possible before asking the database. Mistakes in a list are reported later, together with lines that
  /// conflict with existing jobs.
  private func begin(
    _ display: ProgressDisplay, _ problems: LineProblems, _ reach: AskedReach
  ) async throws -> Lines {
    var reader = SubmissionReader(
      label: "haul submit", display: display, describe: { ExitError(from: $0).message ?? "" })
    reader.reach = reach
    guard let input = list.input else {
      return .given(try reader.lines(ofURLs: urls, path: out, digest: checksum))
    }
    reader.choices = list.choices
    let pieces = try await reader.pieces(ofList: input, problems: problems).begin()
    try reader.requireLine(in: pieces, skipsWrong: list.skipBad)
    return .list(pieces)
  }

  private func submit(
    _ submission: Submission, _ lines: Lines, _ queue: JobQueue, _ problems: LineProblems,
    _ display: ProgressDisplay
  ) async throws -> SubmitReply {
    switch lines {
    case .given(let lines): return try await queue.submit(submission, AsyncStream(lines))
    case .list(let pieces):
      let progress = SubmitProgress(on: display)
      return try await queue.submit(
        submission, pieces, isRefused: { !list.skipBad && problems.count > 0 },
        observe: { progress.take($0) })
    }
  }

  /// Returns the beginning of a message about a submitted line, such as `list.txt:7: `.
  private func place(_ line: Int) -> String {
    if let input = list.input { return "\(ListSource(argument: input).name):\(line): " }
    return urls.count == 1 ? "" : "URL \(line): "
  }

  private func add(_ conflicts: SubmitConflicts, to problems: LineProblems) {
    let first = conflicts.first.map { conflict in
      LineProblems.Problem(
        conflict.line, at: place(conflict.line), conflict.sentence(onDuplicate))
    }
    problems.add(first, of: conflicts.count)
  }

  /// Returns the error that ends the command after `error`, and lists wrong lines. If `error` has another cause than the lines,
  /// lists those found so far, but not with --skip-bad or if another command submitted the same path.
  private func conclude(
    _ error: any Error, _ problems: LineProblems, _ display: ProgressDisplay
  ) -> any Error {
    switch error {
    case SubmissionError.conflicts(let conflicts):
      add(conflicts, to: problems)
      return problems.error(
        listedOn: display, nothing: "Nothing was submitted.", isList: list.input != nil) ?? error
    case SubmissionError.overtaken(_, let submitted):
      let reason = ExitError(from: error).message ?? ""
      let so =
        submitted == 0
        ? "Nothing was submitted"
        : "\(counted(submitted, "line")) \(submitted == 1 ? "was" : "were") submitted"
      return ExitError(
        .badInput, "another command submitted the same path just now: \(reason) \(so). Try again.")
    default:
      if !list.skipBad { problems.list(on: display) }
      return error
    }
  }

  /// Returns a name for a batch that the user did not name.
  private static func inventBatch() -> String {
    "submit-" + String(UInt64.random(in: 1 << 60...UInt64.max), radix: 16)
  }

  private func checkUsage() throws(ExitError) {
    try list.check(beside: urls)
    let single = [out.map { _ in "--out" }, checksum.map { _ in "--checksum" }].compactMap { $0 }
    if urls.count != 1 && !single.isEmpty { throw ExitError(needingOneURL: single) }
  }

  /// Returns the delay of the jobs, or nil if they may start immediately. The database's clock converts a point in time to a
  /// delay, because the clock of this machine may be wrong.
  private func delay(_ queue: JobQueue) async throws -> Duration? {
    switch notBefore {
    case nil: nil
    case .duration(let duration): duration
    case .at(let seconds): try await queue.time(until: seconds)
    }
  }

  private func report(
    _ reply: SubmitReply, batch: String?, _ display: ProgressDisplay
  ) throws {
    display.clear()
    func warn(_ text: String) { display.say("haul submit: \(text)", as: .warning) }
    // Without --batch, Haul invented the batch. The user then need not know that jobs are in other batches.
    for elsewhere in reply.elsewhere where elsewhere.kind == .queue || self.batch != nil {
      let isOne = elsewhere.jobs == 1
      let place = elsewhere.name.map { "in the \(elsewhere.kind) \($0)" }
      let jobs = isOne ? "this job" : "these jobs"
      warn(
        "\(counted(elsewhere.jobs, "URL")) already \(isOne ? "has a job" : "have jobs") "
          + "\(place ?? "without a \(elsewhere.kind)"). "
          + (elsewhere.kind == .queue
            ? "To move \(jobs) to the queue \(queue) and download the \(isOne ? "file" : "files") again, use --on-duplicate replace"
            : "Haul does not add \(jobs) to the batch \(batch ?? "")"))
    }
    if !reply.moved.isEmpty { warn(reply.departures) }
    if reply.unchecked > 0 {
      warn(
        "\(counted(reply.unchecked, "URL")) already \(reply.unchecked == 1 ? "has a job" : "have jobs"). "
          + "Haul does not compare \(reply.unchecked == 1 ? "its file with the new digest" : "their files with the new digests")"
          + (onDuplicate == .refresh
            ? "" : ". To compare a complete file with a new digest, use --on-duplicate refresh")
      )
    }
    if priority != nil && reply.skipped + reply.requeued > 0 {
      warn(
        "existing jobs keep their priority. Use 'haul prioritize' to change it")
    }
    if reply.unapplied > 0 {
      warn(
        "existing jobs keep their options. To change them and download the files again, use --on-duplicate replace"
      )
    }
    if progress.isQuiet && !output.isJSON {
      let ids = reply.ids.map { "\($0.lowerBound) \($0.upperBound)" }
      if let name = batch ?? ids { try StandardStream.output.write(name + "\n") }
      return
    }
    try output.print(
      [
        .init("submitted", .number(reply.submitted)), .init("skipped", .number(reply.skipped)),
        .init("requeued", .number(reply.requeued)), .init("replaced", .number(reply.replaced)),
        .init("refreshed", .number(reply.refreshed)),
        .init("moved", .array(reply.moved.map { .object($0.members) })),
        .init("batch", .text(batch)), .init("first_job", .number(reply.ids?.lowerBound)),
        .init("last_job", .number(reply.ids?.upperBound)),
      ],
      orSay: "submitted \(counted(reply.submitted, "job")), \(reply.skipped) existed already, "
        + "\(reply.requeued) queued again"
        + (reply.replaced > 0 ? ", \(reply.replaced) replaced" : "")
        + (onDuplicate == .refresh ? ", \(reply.refreshed) to be refreshed" : ""))
  }
}

extension Submission.OnDuplicate: OptionValue {}

extension SubmitReply {
  /// The largest number of batches that a sentence names.
  private static let named = 5

  /// The sentence about moved jobs: `--on-duplicate replace moved 12 jobs out of other batches: 10 from monday, 2 from
  /// tuesday`.
  fileprivate var departures: String {
    let jobs = moved.reduce(0) { $0 + $1.jobs }
    let names = moved.prefix(Self.named).map { "\($0.jobs) from \($0.batch)" }
    let more = moved.count - names.count
    let rest = more > 0 ? ["others from \(more) more \(more == 1 ? "batch" : "batches")"] : []
    return "--on-duplicate replace moved \(counted(jobs, "job")) out of other batches: "
      + OneOf.listed(names + rest, by: "and")
  }
}

extension SubmitReply.Moved {
  fileprivate var members: [JSONValue.Member] {
    [.init("batch", .string(batch)), .init("jobs", .number(jobs))]
  }
}
