import Glibc
import HaulSystem
import Synchronization
import TestSupport

@testable import HaulTransfer

/// The life of one job whose source is hostile: attempt after attempt, some of which die, until the source behaves.
///
/// A death leaves of the disk what was synced. Of everything else each page is there or is zeros, as chance has it, and the file
/// may be shorter or gone.
final class History: Sendable {
  /// So many attempts a source that behaves may take to bring its file home.
  static let patience = 1

  /// What came of histories.
  struct Account: Sendable {
    var complaints: [String] = []
    /// Complete before the source behaved.
    var early = 0
    var (attempts, resumed, changes, deaths, drains) = (0, 0, 0, 0, 0)
    var deeds: [HostileDeed: Int] = [:]

    mutating func add(_ other: Account) {
      complaints += other.complaints
      early += other.early
      attempts += other.attempts
      resumed += other.resumed
      changes += other.changes
      deaths += other.deaths
      drains += other.drains
      deeds.merge(other.deeds) { $0 + $1 }
    }
  }

  /// What the database keeps of a job, and what ends the worker that has it.
  private struct State: Sendable {
    var random: SplitMix
    var account = Account()
    var checkpoint: Checkpoint?
    /// The attempt under way; 0 for none.
    var attempt = 0
    var story: [String] = []
    var changes = 0
    var isRangeUnsafe = false
    var isDead = false
    /// The worker dies when it saves for the time that this counts down to; never where it is negative.
    var savesToDeath = -1
  }

  private let seed: UInt64
  private let name: String
  private let stage: HistoryStage
  private let source: HostileSource
  private let digest: ExpectedDigest?
  private let directory: String
  private let state: Mutex<State>

  /// - Parameter name: tells it from others on the same stage.
  init(seed: UInt64, name: String, on stage: HistoryStage) {
    self.seed = seed
    self.name = name
    self.stage = stage
    source = HostileSource(seed: seed, hosts: stage.hosts)
    digest =
      source.returns ? ExpectedDigest(.sha256, bytes: source.versions[0].digest(.sha256)) : nil
    directory = stage.directory.path(name)
    state = Mutex(State(random: SplitMix(state: ~seed)))
  }

  func run() async throws -> Account {
    stage.open(name, source)
    defer {
      stage.close(name)
      // It holds whom it strikes.
      source.onStrike { _ in }
      source.onAnswer { _ in }
    }
    mkdir(directory, 0o755)
    let attempts = state.withLock { Int.random(in: 2...9, using: &$0.random) }
    for number in 1...attempts {
      if try await attempt(number, by: stage.impatient) { return account(early: 1) }
    }
    source.behave()
    for number in 1...Self.patience {
      if try await attempt(attempts + number, by: stage.patient) { return account(early: 0) }
    }
    complain("no file, though the source behaves")
    return account(early: 0)
  }

  private func account(early: Int) -> Account {
    var account = state.withLock { $0.account }
    account.early = early
    account.deeds = source.deeds
    return account
  }

  /// A line for whoever has to find out how it came to a complaint.
  private func tell(_ line: String) { state.withLock { $0.story.append(line) } }

  private func complain(_ what: String) {
    state.withLock { state in
      let story = state.story.joined(separator: "; ")
      state.account.complaints.append("HAUL_TEST_SEED=\(seed): \(what): \(story)")
    }
  }

  // MARK: - One attempt

  /// Returns whether there is a file now.
  private func attempt(_ number: Int, by engine: Engine) async throws -> Bool {
    let parts = PartDirectory(try FileDescriptor.directory(directory))
    let transfer = PartTransfer(
      try order(number, parts, isLast: engine === stage.patient), engine: engine, io: stage.io,
      save: { [self] in record($0) }, observe: { [self] in tell("\($0) \($1)") })
    tell("attempt \(number)")
    source.onAnswer { [self] in tell($0) }
    source.onStrike { [self] fate in
      // What strikes late strikes nobody.
      state.withLock { state in
        guard state.attempt == number else { return }
        if fate == .death { state.isDead = true } else { state.account.drains += 1 }
      }
      transfer.stop()
    }
    let outcome = await transfer.run()
    let report = transfer.report
    let isDead = state.withLock { state in
      state.account.attempts += 1
      state.attempt = 0
      state.account.resumed += report.resumedAt > 0 ? 1 : 0
      state.account.changes += report.changes
      guard !state.isDead else { return true }
      state.changes += report.changes
      state.isRangeUnsafe = report.isRangeUnsafe && Bool.random(using: &state.random)
      return false
    }
    tell("\(isDead ? "died: " : "")\(outcome.word)")
    if isDead {
      try loseWhatIsNotDurable(parts)
      return false
    }
    switch outcome {
    case .complete(let part, let length):
      try check(part, length)
      return true
    case .failed(let error): check(error)
    case .lost: complain("the job is lost, though nobody took it away")
    case .unchanged: complain("unchanged, though nothing was there")
    case .stopped: break
    }
    return false
  }

  private func order(
    _ number: Int, _ parts: PartDirectory, isLast: Bool
  ) throws -> TransferRequest {
    let earlier = try takeOver(parts, as: "\(number)")
    var order = TransferRequest(
      url: try WebURL("http://\(stage.hosts[0])/\(name)/"), parts: parts, partName: "\(number)")
    order.resuming = earlier
    order.digest = digest
    order.stopTime = .seconds(60)
    state.withLock { state in
      order.changes = state.changes
      order.rangeUnsafe = state.isRangeUnsafe
      order.checkpointBytes = [1, 8192, 65_536].randomElement(using: &state.random) ?? 1
      let isFatal = Int.random(in: 0..<6, using: &state.random) == 0
      state.savesToDeath = isFatal && !isLast ? Int.random(in: 0..<3, using: &state.random) : -1
      state.isDead = false
      state.attempt = number
    }
    return order
  }

  /// As a worker does it: parts are looked up, the one that the checkpoint means gets a new name, others are removed.
  private func takeOver(
    _ parts: PartDirectory, as own: String
  ) throws -> (checkpoint: Checkpoint, part: PartFile)? {
    let text = try state.withLock { $0.checkpoint }?.resumeData()
    let checkpoint = try text.map { try Checkpoint(resumeData: $0) }
    var found: (Checkpoint, PartFile)?
    for name in try parts.names(startingWith: "") {
      guard found == nil, let checkpoint,
        try parts.open(
          name, inode: checkpoint.inode, holding: checkpoint.durable.end,
          of: checkpoint.completeLength) != nil,
        try parts.rename(name, to: own),
        let part = try parts.open(
          own, inode: checkpoint.inode, holding: checkpoint.durable.end,
          of: checkpoint.completeLength)
      else {
        try parts.remove(name)
        continue
      }
      found = (checkpoint, part)
    }
    return found
  }

  /// The row of the database, unless the worker dies before or behind it.
  private func record(_ checkpoint: Checkpoint) -> Bool {
    state.withLock { state in
      guard !state.isDead else { return false }
      state.isDead = state.savesToDeath == 0
      state.savesToDeath -= 1
      if !state.isDead || Bool.random(using: &state.random) {
        state.checkpoint = checkpoint
        let durable = checkpoint.durable.description
        state.story.append("saved \(durable) of \(checkpoint.validator?.text ?? "")")
      }
      return !state.isDead
    }
  }

  private func loseWhatIsNotDurable(_ parts: PartDirectory) throws {
    let page: Int64 = 4096
    state.withLock { $0.account.deaths += 1 }
    for name in try parts.names(startingWith: "").sorted() {
      guard let part = try parts.open(name) else { continue }
      try state.withLock { state in
        let durable =
          part.inode == state.checkpoint?.inode
          ? state.checkpoint?.durable ?? ByteRanges() : ByteRanges()
        if durable.isEmpty, Bool.random(using: &state.random) { return try parts.remove(name) }
        for gap in durable.missing(within: try part.size()) {
          for start in stride(from: gap.lowerBound, to: gap.upperBound, by: Int(page))
          where Bool.random(using: &state.random) {
            let zeros = [UInt8](repeating: 0, count: Int(min(page, gap.upperBound - start)))
            try zeros.withUnsafeBytes { try part.write($0, at: start) }
          }
        }
        if Int.random(in: 0..<4, using: &state.random) == 0 {
          truncate("\(directory)/\(name)", off_t(durable.end))
        }
      }
    }
  }

  // MARK: - What must hold

  private func check(_ part: PartFile, _ length: Int64) throws {
    var bytes = [UInt8](repeating: 0, count: Int(length))
    let count = try bytes.withUnsafeMutableBytes { try part.read(into: $0, at: 0) }
    let candidates = digest == nil ? source.versions : [source.versions[0]]
    guard try part.size() == length, count == length,
      candidates.contains(where: { $0.length == length && $0.bytes(in: 0..<length) == bytes })
    else {
      let differences = candidates.map {
        "\($0.length): \(zip($0.bytes(in: 0..<$0.length), bytes).count { $0 != $1 }) bytes differ"
      }
      return complain("a file of \(length) bytes that never was; \(differences)")
    }
  }

  private func check(_ error: TransferError) {
    let own: [TransferError.Class] = [
      .io, .diskFull, .dns, .blockedAddress, .blockedURL, .cancelled,
    ]
    if own.contains(error.errorClass) { complain("\(error)") }
  }
}

extension TransferOutcome {
  fileprivate var word: String {
    switch self {
    case .complete(_, let length): "complete with \(length)"
    case .unchanged: "unchanged"
    case .stopped: "stopped"
    case .lost: "lost"
    case .failed(let error): error.description
    }
  }
}
