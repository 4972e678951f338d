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
    Reads the files of completed jobs and compares their length and their digest. Haul records the SHA-256 of each file \
    by default. A file without a digest is compared by its length alone: its job was submitted with \
    --no-record-digest, found the file there and skipped it, or ran with an older version. At the end Haul says how many files it compared by digest, how many by \
    length alone, and how many not at all, and why.

    Without --store it finds the stores of this machine: it looks at the directories where stores were initialised, and takes \
    those that have the store's marker.

    With --requeue Haul queues the jobs of missing and damaged files again. It keeps a damaged file \
    beside the new one, as NAME.damaged. If a store consists of local disks of several machines, a file that is not on this \
    machine may be on another. It counts as missing only if its job is named by id.

    Haul ends with 0 if all files that it compared are as recorded, and with 1 if a file is missing, damaged or unreadable. \
    'haul submit --on-duplicate refresh' downloads files that have changed at their source.
    """
  static let examples = [
    Example("haul verify", "All finished files in the stores of this machine."),
    Example("haul verify --since 1d --quiet", "The files of the last day, without progress."),
    Example("haul verify --sample 1%", "One file of a hundred, chosen at random."),
    Example(
      "haul verify --store films=/srv/films --batch monday --requeue",
      "The files of a batch. Haul downloads missing and damaged ones again."),
  ]
  static let options: [Option<Self>] =
    [
      .values(
        "store", "<name=dir>", \.stores, environment: "HAUL_STORES",
        "A store and the directory where it is mounted; may be repeated. Default: the stores of this machine."
      ).from(.mounts("store")),
      .value(
        "since", "<time>", \.since,
        "Only files finished since then: a duration before now such as 1d, or a time such as 2026-11-21T18:00:00Z."
      ),
      .value(
        "sample", "<percent>", \.sample,
        "Only this part of the files, chosen at random each time. Example: 1%."),
      .flag("requeue", \.requeue, "Queue the jobs of missing and damaged files again."),
      .flag("dry-run", \.isDryRun, "With --requeue: only list them, and change nothing."),
    ] + group(\.progress) + group(\.selectors) + group(\.output) + group(\.database)
  static let operands: [Operand<Self>] = [
    .repeated("id", \.ids, isRequired: false, "Ids of jobs.")
  ]

  var ids: [Int64] = []
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
    if !stores.isEmpty { try stores.requireOneEach() }
    if selectors.error != nil || ![nil, .completed].contains(selectors.state) {
      throw ExitError(.usage, "only completed jobs have a file to verify.")
    }
    let (tally, absent) = try await (requeue ? database.writing : database).withQueue { queue in
      let absent = try await notCompleted(queue)
      return (try await verify(queue), absent)
    }
    if !absent.isEmpty {
      let names = absent.map(String.init).joined(separator: ", ")
      StandardStream.say("haul verify: there is no finished file to compare of job \(names)\n")
    }
    if !tally.faults.isEmpty || output.isJSON {
      try output.print(tally.faults, FaultyFile.columns)
    }
    for note in tally.notes { StandardStream.say("haul verify: \(note)\n") }
    guard tally.faults.isEmpty else { throw ExitError(.failed, tally.failures) }
    if output.isJSON {
      if !progress.isQuiet { StandardStream.say("haul verify: \(tally.sentence)\n") }
    } else {
      try output.print([], orSay: tally.sentence)
    }
  }

  /// The jobs named by id that have not completed.
  private func notCompleted(_ queue: JobQueue) async throws -> [Int64] {
    if ids.isEmpty { return [] }
    var selector = JobSelector()
    selector.ids = ids
    selector.state = .completed
    let completed = Set(try await queue.jobs(selector, limit: ids.count).map(\.job))
    return ids.filter { !completed.contains($0) }
  }

  /// The jobs meant that have not completed, by state. They may have files of before, which a refresh asks about again.
  private func unfinished(_ queue: JobQueue) async throws -> [(state: JobState, count: Int)] {
    var selector = selectors.selector(ids: [])
    selector.state = nil
    return try await queue.affected(selector, in: JobState.known.filter { $0 != .completed })
  }

  private func verify(_ queue: JobQueue) async throws -> VerifyTally {
    let facts = try await queue.databaseFacts()
    // A damaged file is renamed before its job is queued again.
    if requeue, !facts.may.submit { throw ExitError(lacking: .submitter, prefix: facts.may.prefix) }
    var selection = FileSelection(selectors.selector(ids: ids))
    switch since {
    case .duration(let age)?: selection.since = facts.time - age / .seconds(1)
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
    // Before any job is queued again.
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
    // Where this login may not, 'haul check' goes on to recommend a verification.
    if facts.may.submit { try await queue.recordVerification(of: run.found.instances) }
    return run.tally
  }
}
