import Arguments
import HaulSystem
import JobModel
import JobQueue
import Stores
import Terminal

struct VerifyCommand: HaulCommand {
  static let name = "verify"
  static let abstract = "Compare finished files with their recorded length and digest."
  static let discussion = """
    Haul reads the files of completed jobs and compares their length and digest. By default Haul records the \
    SHA-256 of each file. If Haul has no digest of a file, it compares only the length. This is the case if \
    the job used --no-record-digest, skipped an existing file, or ran with an older version of Haul. At the \
    end Haul prints how many files it compared by digest and how many by length only. It also prints how many \
    files it did not compare, and why.

    Without --store Haul finds the stores of this machine. It looks at the directories where stores were \
    initialised, and uses each directory that has the marker of its store.

    With --requeue Haul queues the jobs of missing and damaged files again. It keeps a damaged file as \
    NAME.damaged beside the new one. If several machines have local disks of one store, a missing file may be \
    on another machine. So Haul reports such a file as missing only if you give the id of its job.

    Haul exits with 0 if all compared files are correct, and with 1 if a file is missing, damaged or \
    unreadable. To download files that have changed at their source, use 'haul submit --on-duplicate \
    refresh'.

    With --manifest, Haul compares a directory with a list of files, and needs no pool. The list is a manifest of \
    'haul export --manifest', or checksums that sha256sum or a similar program wrote. Haul recognises the format \
    by the content. It opens no file outside the directory and follows no symbolic link in it. If a line of the \
    list is wrong, Haul compares the other files, and exits with 65 if these are correct.
    """
  static let examples = [
    Example("haul verify", "Compares all finished files in the stores of this machine."),
    Example(
      "haul verify --since 1d --quiet", "Compares the files of the last day, without progress."),
    Example("haul verify --sample 1%", "Compares one file in a hundred, chosen at random."),
    Example(
      "haul verify --store films=/srv/films --batch monday --requeue",
      "Compares the files of a batch, and downloads missing and damaged ones again."),
    Example(
      "haul verify --manifest SHA256SUMS /srv/films",
      "Compares a directory with a list of checksums, without a pool."),
  ]
  static let options: [Option<Self>] =
    [
      .values(
        "store", "<name=dir>", \.stores, environment: "HAUL_STORES",
        "A store and the directory where it is mounted. You can repeat the option. Default: the stores of this machine."
      ).from(.mounts("store")),
      .value(
        "since", "<time>", \.since,
        "Compare only files that finished after this time: a duration before now such as 1d, or a time such as 2026-11-21T18:00:00Z."
      ),
      .value(
        "sample", "<percent>", \.sample,
        "Compare only this part of the files, chosen at random. Example: 1%."),
      .flag("requeue", \.requeue, "Queue the jobs of missing and damaged files again."),
      .value(
        "manifest", "<file>", \.manifest,
        "Compare a directory with this list of files, without a pool. - is standard input."
      ).from(.files),
      .flag(
        "extra", \.findsExtra,
        "With --manifest, also report files in the directory that the list does not name."),
      .flag("dry-run", \.isDryRun, "With --requeue, only list the files, and change nothing."),
    ] + group(\.progress) + group(\.selectors) + group(\.output) + group(\.database)
  static let operands: [Operand<Self>] = [
    .repeated(
      "id", \.operands, isRequired: false,
      "Ids of jobs. With --manifest, the directory. Default: the working directory."
    ).from(.directories)
  ]

  var operands: [String] = []
  /// The operands as ids of jobs, without --manifest.
  private var ids: [Int64] = []
  var manifest: String?
  var findsExtra = false
  var stores: [MountArgument] = []
  var since: TimeArgument?
  var sample: Percentage?
  var requeue = false
  var isDryRun = false
  var progress = ProgressOptions()
  var selectors = SelectorOptions()
  var output = OutputOptions()
  var database = DatabaseOptions()

  func perform() async throws {
    if let manifest { return try await compare(withManifest: manifest) }
    if findsExtra { throw ExitError(.usage, "--extra needs --manifest.") }
    var command = self
    command.ids = try parsedIds()
    try await command.compareWithRecords()
  }

  private func compareWithRecords() async throws {
    if !stores.isEmpty { try stores.requireOneEach() }
    if selectors.error != nil || ![nil, .completed].contains(selectors.state) {
      throw ExitError(
        .usage, "only completed jobs have a file to verify. Remove --state and --error.")
    }
    let (tally, absent) = try await (requeue ? database.writing : database).withQueue { queue in
      let absent = try await notCompleted(queue)
      return (try await verify(queue), absent)
    }
    if !absent.isEmpty {
      let jobs = OneOf.listed(absent.map(String.init), by: "and")
      StandardStream.say(
        "haul verify: \(absent.count == 1 ? "job \(jobs) has" : "jobs \(jobs) have") no finished file to compare\n"
      )
    }
    if !tally.faults.isEmpty || output.isJSON {
      try output.print(tally.faults, FaultyFile.columns(.job))
    }
    for note in tally.notes { StandardStream.say("haul verify: \(note)\n") }
    guard tally.faults.isEmpty else { throw ExitError(.failed, tally.failures) }
    if output.isJSON {
      if !progress.isQuiet { StandardStream.say("haul verify: \(tally.sentence)\n") }
    } else {
      try output.print([], orSay: tally.sentence)
    }
  }

  /// Returns the jobs selected by id that have not completed.
  private func notCompleted(_ queue: JobQueue) async throws -> [Int64] {
    if ids.isEmpty { return [] }
    var selector = JobSelector()
    selector.ids = ids
    selector.state = .completed
    let completed = Set(try await queue.jobs(selector, limit: ids.count).map(\.job))
    return ids.filter { !completed.contains($0) }
  }

  /// Returns the number of selected jobs in each state other than `completed`. These jobs may have files from earlier
  /// downloads, for example while a refresh asks the source again.
  private func unfinished(_ queue: JobQueue) async throws -> [(state: JobState, count: Int)] {
    var selector = selectors.selector(ids: [])
    selector.state = nil
    return try await queue.affected(selector, in: JobState.known.filter { $0 != .completed })
  }

  private func verify(_ queue: JobQueue) async throws -> VerifyTally {
    let may = try await queue.rights()
    // This is checked first, because a damaged file is renamed before its job is queued again.
    if requeue, !may.submit { throw ExitError(lacking: .submitter, prefix: may.prefix) }
    var selection = FileSelection(selectors.selector(ids: ids))
    switch since {
    case .duration(let age)?: selection.since = try await queue.time() - age / .seconds(1)
    case .at(let time)?: selection.since = time
    case nil: break
    }
    selection.sample = sample.map {
      .init(fraction: $0.fraction, seed: .random(in: .min ... .max))
    }
    let display = progress.display(label: "haul verify")
    let isOnTerminal = Screen(.error, environment: [:]).width != nil && !progress.isQuiet
    var run = VerifyRun(
      queue: queue, selection: selection, requeues: requeue && !isDryRun,
      found: try VerifyStores(stores.map(\.mount), among: try await queue.stores()),
      progress: VerifyProgress(on: display))
    defer { display.finish() }
    // Counts these jobs before any job is queued again.
    if since == nil, sample == nil, ids.isEmpty {
      run.tally.unfinished = try await unfinished(queue)
    }
    try await run.compare(countsFirst: isOnTerminal)
    run.tally.sample = sample?.argument
    guard run.tally.looked > 0, since == nil, sample == nil,
      selectors.selector(ids: ids) == JobSelector()
    else {
      return run.tally
    }
    // A user who cannot submit jobs cannot record this verification either. So 'haul check' continues to recommend one.
    if may.submit { try await queue.recordVerification(of: run.found.instances) }
    return run.tally
  }
}
