import Arguments
import HaulSystem
import HaulTransfer
import JobModel
import JobQueue
import Reports
import Stores
import Terminal

struct VerifyCommand: HaulCommand {
  static let name = "verify"
  static let abstract = "Compare finished files with their recorded length and digest."
  static let discussion = """
    Reads the files of completed jobs in the stores that are named; run it where these are mounted. A \
    digest is there to compare with where the job or the server gave one, or it was submitted with \
    --record-digest; else the length has to do.

    With --requeue the jobs of files that are missing or damaged are queued again. A damaged file is \
    kept beside the new one, as NAME.damaged. Where a store is several machines' local disks, a file \
    that is not on this one is taken to be on another, unless its job is named by id.

    What has changed at its source since is brought anew by 'haul submit --on-duplicate refresh'.
    """
  static let examples = [
    Example("haul verify --store films=/srv/films", "All finished files of films."),
    Example(
      "haul verify --store films=/srv/films --batch monday --requeue",
      "Those of a batch; what is not right is fetched again."),
  ]
  static let options: [Option<Self>] =
    [
      .values(
        "store", "<name=dir>", \.stores, environment: "HAUL_STORES",
        "A store and the directory it is mounted at; must be given, and may be repeated."
      ).from(.mounts("store")),
      .flag("requeue", \.requeue, "Queue the jobs of missing and damaged files again."),
      .flag("dry-run", \.isDryRun, "With --requeue: only list them, and change nothing."),
    ] + group(\.selectors) + group(\.output) + group(\.database)
  static let operands: [Operand<Self>] = [
    .repeated("id", \.ids, isRequired: false, "Ids of jobs.")
  ]

  /// Jobs read from the database at once.
  private static let page = 1000

  var ids: [Int64] = []
  var stores: [MountArgument] = []
  var requeue = false
  var isDryRun = false
  var selectors = SelectorOptions()
  var output = OutputOptions()
  var database = DatabaseOptions()

  func perform() async throws {
    try stores.requireOneEach()
    if selectors.error != nil || ![nil, .completed].contains(selectors.state) {
      throw ExitError(.usage, "only completed jobs have a file to verify.")
    }
    let (tally, absent) = try await (requeue ? database.writing : database).withQueue { queue in
      let absent = try await notCompleted(queue)
      return (try await verify(queue), absent)
    }
    if !absent.isEmpty {
      let names = absent.map(String.init).joined(separator: ", ")
      StandardStream.say(
        "haul verify: no finished file is there to compare of job \(names)\n")
    }
    if !tally.damaged.isEmpty || output.isJSON {
      try output.print(tally.damaged, DamagedFile.columns)
    }
    guard tally.damaged.isEmpty else { throw ExitError(.failed, tally.failures) }
    if !output.isJSON { try output.print([], orSay: tally.sentence) }
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

  private func verify(_ queue: JobQueue) async throws -> VerifyTally {
    // What is damaged is called something else before its job is queued again.
    let may = try await queue.databaseFacts().may
    if requeue, !may.submit { throw ExitError(lacking: .submitter, prefix: may.prefix) }
    let instances = try await queue.stores()
    var verifiers: [String: (verifier: FileVerifier, isAlone: Bool)] = [:]
    for store in stores.map(\.mount) {
      try Self.requireMarker(of: store, among: instances)
      let isAlone = !ids.isEmpty || instances.count { $0.store == store.name } == 1
      verifiers[store.name] = (try FileVerifier(store), isAlone)
    }
    let queues = Set(try await queue.queues().map(\.queue))
    var selector = selectors.selector(ids: ids)
    selector.state = .completed
    var tally = VerifyTally()
    var before = Int64.max
    while true {
      let jobs = try await queue.jobs(selector, before: before, limit: Self.page)
      guard let last = jobs.last else { return tally }
      before = last.job
      for job in jobs {
        guard let (verifier, isAlone) = verifiers[job.store] else {
          tally.addOther(job.store)
          continue
        }
        guard let path = try? RelativePath(job.path) else { continue }
        let digest = job.digest.flatMap { ExpectedDigest(spelled: $0) }
        let verdict = await verifier.look(at: path, length: job.bytes, digest: digest)
        tally.add(job, verdict, hasDigest: digest != nil, isAlone: isAlone)
        guard requeue, !isDryRun, verdict.isDamaged, tally.damaged.last?.job == job.job else {
          continue
        }
        guard queues.contains(job.queue) else {
          tally.queueless += 1
          continue
        }
        do {
          try await verifier.setAside(path)
        } catch {
          tally.addFault("\(error.message), so its job is not queued again")
          continue
        }
        tally.requeued += try await queue.redo([job.job])
      }
    }
  }

  /// - Throws: where there is no such store, or its directory is another's: all its files would be missing.
  private static func requireMarker(of store: StoreMount, among instances: [StoreRow]) throws {
    guard instances.contains(where: { $0.store == store.name }) else {
      let names = Set(instances.map(\.store)).sorted().joined(separator: ", ")
      throw ExitError(
        .badInput,
        "there is no store \"\(store.name)\"." + (names.isEmpty ? "" : " Stores: \(names)."))
    }
    let marker = try Store.marker(store)
    let owner = instances.first { $0.marker == marker }
    if owner?.store == store.name { return }
    let whose = owner.map { "the store \"\($0.store)\"" } ?? "another database"
    throw ExitError(
      .configuration,
      "store \"\(store.name)\": the marker in its directory belongs to \(whose). Nothing was looked at."
    )
  }
}

/// A finished file that is not what it was.
struct DamagedFile: Sendable {
  let job: Int64
  let path: String
  /// What is wrong with it.
  let fault: String

  static let columns: [Listing<DamagedFile>.Column] = [
    .init("JOB", key: "job", .right, value: { .number($0.job) }),
    .init("PATH", key: "path", value: { .string($0.path) }),
    .init("FAULT", key: "fault", value: { .string($0.fault) }, style: { _ in .red }),
  ]
}

/// What has come of a verification so far.
struct VerifyTally: Sendable {
  private(set) var damaged: [DamagedFile] = []
  /// Files that were looked at.
  private(set) var looked = 0
  /// Right ones of which no digest is known.
  private(set) var byLength = 0
  /// Files that are on another machine.
  private(set) var elsewhere = 0
  /// Jobs whose files are in stores that were not named, by store.
  private(set) var others: [String: Int] = [:]
  /// Jobs that wait again.
  var requeued = 0
  /// Jobs that were to wait again, and whose queue has been deleted.
  var queueless = 0

  mutating func add(
    _ job: JobRow, _ verdict: FileVerifier.Verdict, hasDigest: Bool, isAlone: Bool
  ) {
    looked += 1
    let fault: String
    switch verdict {
    case .right:
      if !hasDigest { byLength += 1 }
      return
    case .missing where !isAlone:
      looked -= 1
      elsewhere += 1
      return
    case .missing: fault = "missing"
    case .length(let length): fault = "\(length) bytes long, not \(job.bytes)"
    case .digest(let found): fault = "\(found), not \(job.digest ?? "")"
    case .unreadable(let why): fault = "unreadable: \(why)"
    }
    damaged.append(DamagedFile(job: job.job, path: job.path, fault: fault))
  }

  /// Says more about the last file that is not as recorded.
  mutating func addFault(_ fault: String) {
    guard let last = damaged.popLast() else { return }
    damaged.append(DamagedFile(job: last.job, path: last.path, fault: "\(last.fault); \(fault)"))
  }

  mutating func addOther(_ store: String) { others[store, default: 0] += 1 }

  private var notes: String {
    (byLength == 0
      ? "" : ", \(byLength == looked - damaged.count ? "" : "\(byLength) of them ")by length alone")
      + (elsewhere > 0
        ? "; \(counted(elsewhere, "file")) not on this machine, where only jobs named by id are missed"
        : "") + otherStores
  }

  /// `; 12 files of the store films not looked at: name it with --store`
  private var otherStores: String {
    others.sorted { $0.key < $1.key }.map { store, count in
      "; \(counted(count, "file")) of the store \(store) not looked at: name it with --store"
    }.joined()
  }

  /// `300 files are as they were recorded, 20 of them by length alone`
  var sentence: String {
    "\(counted(looked, "file")) \(looked == 1 ? "is" : "are") as recorded\(notes)"
  }

  /// `2 of 300 files are not as recorded; 2 jobs are queued again.`
  var failures: String {
    let again =
      (requeued > 0 ? "; \(counted(requeued, "job")) queued again" : "")
      + (queueless > 0
        ? "; \(counted(queueless, "job")) of deleted queues not: submit again, to a queue that is there"
        : "")
    let right = looked - damaged.count
    let rest =
      right > 0 && !notes.isEmpty
      ? "; \(right) \(right == 1 ? "is" : "are") as recorded\(notes)" : ""
    return "\(damaged.count) of \(counted(looked, "file")) not as recorded\(again)\(rest)."
  }
}
