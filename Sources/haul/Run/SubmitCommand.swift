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
  static let discussion = """
    Everything is read and checked before the first job exists: wrong lines end the command with 65 and \
    are listed. What is in the queue already is skipped, and queued again if it had failed, so that a \
    submission can be repeated. More than 100,000 lines are submitted in several steps, and what breaks off \
    between two of them goes on with the same command. A file ends up in the queue's store under host/path/name.

    With --on-duplicate refresh the sources of completed jobs are asked whether they still have the same, by ETag or \
    Last-Modified as they gave it. Where they do, not a byte comes and the file stays as it is; where they do not, or \
    the file is gone or of another length, it is fetched anew, and the old one stays until the new one is there. Options \
    that are not given again stay as they were, a digest and a length excepted. What waits or runs brings what its \
    source has then. A damaged file is fetched anew by 'haul verify --requeue JOB'.

    A list has one URL a line; blank lines and lines that start with # are skipped. More URLs on the line, with tabs \
    between, are mirrors of the same file and are tried in their order. A list may also be an input file of \
    aria2 (out, dir, checksum, header, referer and user-agent count), TsvHttpData-1.0, a table with commas, semicolons or \
    tabs, JSON lines or a JSON array: its content tells. Tables and JSON know the fields \
    \(ListField.names.joined(separator: ", ")); headers and mirrors are lists of texts in JSON, and with tabs between in a table. \
    --url-column, --name-column and --digest-column read columns of other names, and --extract reads any text. \
    A file of another length or digest than \
    the list says fails. No user name, password or token may be in a list, a URL or a header: the database would keep it. \
    Name a credential instead, which is a file of the workers'.
    """
  static let examples = [
    Example("haul submit https://example.org/a.iso --out a.iso", "One file under a chosen name."),
    Example(
      "haul submit -i list.txt --queue films --batch monday --wait",
      "A list, until all of it has ended; exits with 1 if some failed."),
    Example(
      "haul submit https://example.org/b.iso --credential archive --header 'DNT: 1'",
      "The workers prove who asks by what they know as archive."),
    Example(
      "haul submit -q -i list.txt", "For a script: prints the first and the last id of these jobs."),
    Example(
      "haul submit -i list.txt --skip-bad --on-duplicate replace",
      "A list without its wrong lines; what is there already becomes what it says now."),
    Example(
      "haul submit -i list.txt --on-duplicate refresh",
      "A mirror brought up to date: what has changed is replaced, what is new added."),
  ]
  static let options: [Option<Self>] =
    [
      .value(
        "on-duplicate", "<policy>", \.onDuplicate,
        """
        What to do where a job has a line's path already: skip the line if its URL is the same, refresh the file of \
        such a job if the source has changed, replace the job, or error.
        """
      ),
      .value("queue", "<name>", \.queue, environment: "HAUL_QUEUE", "The queue to submit to.")
        .from(.names("queue")),
      .value("batch", "<name>", \.batch, "A name to select these jobs by.").from(.names("batch")),
      .value("priority", "<n>", \.priority, in: 0...9, "From 0, first, to 9, last; 5 otherwise."),
      .value("out", short: "o", "<path>", \.out, "Where a single URL's file goes in the store."),
      .value(
        "checksum", "<alg=digest>", \.checksum, "The digest that a single URL's file must have."),
      .value(
        "not-before", "<when>", \.notBefore, "Start no earlier: 90s, 1h30m, or an RFC 3339 time."),
      .flag(
        "wait", \.wait,
        "Wait until these jobs have ended, those that were in the queue already too; with --batch the whole batch."
      ),
      .flag(
        "quiet", short: "q", \.progress.isQuiet,
        "Print only the batch's name, or the first and the last job id if there is no batch."),
    ] + group(\.output) + group(\.list) + group(\.choices) + group(\.database)
  static let habits = JobOptionTable.habits
  static let operands: [Operand<Self>] = [
    .repeated(
      "url", \.urls, isRequired: false,
      "http, https, ftp, ftps or sftp URLs.")
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
        // Its jobs are there, whatever becomes of this question.
        let service = reply.hasWork ? try? await queue.service(of: self.queue) : nil
        let needs = reach.needs
        warnings =
          service?.warnings(queue: self.queue, schemes: needs.schemes, addresses: needs.addresses)
          ?? []
        return reply
      }
    } catch {
      throw conclude(error, problems, display)
    }
    add(reply.conflicts, to: problems)
    problems.listLeftOut(on: display, label: "haul submit")
    try report(reply, batch: batch, display)
    for warning in warnings { display.say("haul submit: \(warning)") }
    if wait, let batch {
      try await BatchWait(
        jobs: AwaitedJobs(batches: [batch], others: reply.others), label: "haul submit",
        database: database.configuration, display: display
      ) { [output, progress] members, sentence in
        if output.isJSON || !progress.isQuiet { try output.print(members, orSay: sentence) }
      }.run()
    }
  }

  /// What is to be submitted.
  private enum Lines {
    case given([SubmitLine])
    case list(SubmissionPieces)
  }

  /// Reads what can be read before the database is asked. What is wrong with a list is told later, with what of it
  /// contradicts the queue.
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

  /// Names a line of what is being submitted, to lead a sentence.
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

  /// What ends the command. Where it is no fault of the lines, those that are wrong are told all the same.
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
        submitted == 0 ? "Nothing was submitted" : "Submitted were \(counted(submitted, "line"))"
      return ExitError(
        .badInput, "somebody has submitted the same path just now: \(reason) \(so); try again.")
    default:
      if !list.skipBad { problems.list(on: display) }
      return error
    }
  }

  /// A name for a batch that the user did not name.
  private static func inventBatch() -> String {
    "submit-" + String(UInt64.random(in: 1 << 60...UInt64.max), radix: 16)
  }

  private func checkUsage() throws(ExitError) {
    try list.check(beside: urls)
    let single = [out.map { _ in "--out" }, checksum.map { _ in "--checksum" }].compactMap { $0 }
    if urls.count != 1 && !single.isEmpty { throw ExitError(needingOneURL: single) }
  }

  /// A time is measured by the database's clock, like all others.
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
    // An invented batch is nobody's wish.
    for elsewhere in reply.elsewhere where elsewhere.kind == .queue || self.batch != nil {
      let place = "\(elsewhere.name == nil ? "no " : "")\(elsewhere.kind)"
      display.say(
        "haul submit: \(counted(elsewhere.jobs, "URL")) \(elsewhere.jobs == 1 ? "was" : "were") there already, "
          + "in \([place, elsewhere.name].compactMap { $0 }.joined(separator: " ")): "
          + "\(elsewhere.jobs == 1 ? "it stays" : "they stay") there"
          + (elsewhere.kind == .queue
            ? "; with --on-duplicate replace \(elsewhere.jobs == 1 ? "it comes here, and is" : "they come here, and are") fetched anew"
            : ""))
    }
    if !reply.moved.isEmpty { display.say("haul submit: \(reply.departures)") }
    if reply.unchecked > 0 {
      display.say(
        "haul submit: \(counted(reply.unchecked, "URL")) \(reply.unchecked == 1 ? "was" : "were") there already, "
          + "without the digest given now, which is not compared"
          + (onDuplicate == .refresh
            ? "" : "; with --on-duplicate refresh it is, once the file is there")
      )
    }
    if priority != nil && reply.skipped + reply.requeued > 0 {
      display.say(
        "haul submit: what was there already keeps its priority; 'haul prioritize' changes it")
    }
    if reply.unapplied > 0 {
      display.say(
        "haul submit: what was there already keeps its options; with --on-duplicate replace it gets these, and is fetched again"
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
      orSay: "submitted \(counted(reply.submitted, "job")), \(reply.skipped) already there, "
        + "\(reply.requeued) queued again"
        + (reply.replaced > 0 ? ", \(reply.replaced) replaced" : "")
        + (onDuplicate == .refresh ? ", \(reply.refreshed) asked for again" : ""))
  }
}

extension Submission.OnDuplicate: OptionValue {}

extension SubmitReply {
  /// How many batches a sentence names.
  private static let named = 5

  /// `--on-duplicate replace moved 12 jobs out of other batches: 10 from monday, 2 from tuesday`
  fileprivate var departures: String {
    let jobs = moved.reduce(0) { $0 + $1.jobs }
    let names = moved.prefix(Self.named).map { "\($0.jobs) from \($0.batch)" }
    let more = moved.count - names.count
    return "--on-duplicate replace moved \(counted(jobs, "job")) out of other batches: "
      + names.joined(separator: ", ") + (more > 0 ? ", and others from \(more) more" : "")
  }
}

extension SubmitReply.Moved {
  fileprivate var members: [JSONValue.Member] {
    [.init("batch", .string(batch)), .init("jobs", .number(jobs))]
  }
}
