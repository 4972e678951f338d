package import HaulSystem
import Synchronization

/// Downloads one representation into a part file, in as many exchanges as it takes.
///
/// The decisions are `TransferState`'s; this is the hand that carries them out. One run a value. Durable progress is
/// handed to `save` after it was synced: as often as the order says, at a stop and at a failure.
package final class PartTransfer: Sendable {
  /// Records durable progress; false means that the right to the job is gone.
  package typealias Save = @Sendable (Checkpoint) async -> Bool
  /// Called for each ruling of the decision table with the row and the result, for logs.
  package typealias Observe = @Sendable (_ row: Int, _ verdict: String) -> Void

  /// The number of broken bodies, each within ``TransferRequest/checkpointBytes`` of the last, after which the rest is
  /// left to a later attempt.
  static let maximumBreaks = 8

  let order: TransferRequest
  let engine: Engine
  let io: IOPool
  let save: Save
  let observe: Observe
  let shared: Mutex<Shared>

  /// What the engine thread, the checkpoint timer and the run itself share.
  struct Shared: Sendable {
    var state: TransferState
    /// The body under way, or the last one; nil before the first.
    var body: PartBody?
    var report = TransferReport()
    /// Cookies that servers have set, each a line of the Netscape format. They follow the job over all its requests, and no
    /// other job has them.
    var cookies: [String] = []
    /// The exchange under way.
    var handle: ExchangeHandle?
    /// Since when the exchange under way waits for its head; nil where none does.
    var asked: ContinuousClock.Instant?
    /// Part files begun so far, for their names.
    var generation = 0
    /// The part file in use.
    var partName: String?
    /// Length and digest of the first of two downloads (row 23).
    var first: (part: PartFile, length: Int64, digest: [UInt8])?
    /// Origins that want Digest instead of Basic.
    var digestOrigins: Set<String> = []
    /// Logins that ``TransferRequest/authenticate`` has given, by origin, and how many it was asked for.
    var logins: [String: Login] = [:]
    var challenges: [String: Int] = [:]
    /// When the first body was opened, and when bytes came last; nil before.
    var receivingSince: ContinuousClock.Instant?
    var receivedAt: ContinuousClock.Instant?
    /// When the source was last changed; as `Checkpoint.modified`.
    var modified: Int64?
    /// What the last head led to.
    var ruling: Action?
    /// Why the file cannot stand where it is to go; nil where it can, or nothing was asked.
    var refusal: TransferError?
    /// Length of the whole file, known from the end of a body.
    var length: Int64?
    var isPaused = false
    /// The run, where it waits with its next question until it is paused no more.
    var held: CheckedContinuation<Void, Never>?
    /// What else a stop ends.
    var whenEnded: (@Sendable () -> Void)?
    var isStopped = false
    var isLost = false
    /// The run has its outcome: nothing more is saved.
    var isOver = false
    /// Whether the run is to end as soon as it can.
    var isEnded: Bool { isStopped || isLost }
    /// Whether no question may go out now.
    var isHeld: Bool { isPaused && !isEnded }
    /// Saves from time to time; nil until a body turns out not to be all there at once.
    var timer: Task<Void, Never>?
    /// The checkpoint under way.
    var saving: Task<Void, Never>?
    /// Bytes fetched when progress was last saved.
    var savedFetched: Int64 = 0
    /// The record holds something besides bytes that is not saved yet.
    var isRecordNew = false
    /// The beginning of a response that may be an error page; nil where the body is the file's.
    var preview: ResponsePreview?
    /// Where the body under way is on trial.
    var trial: PartTrial?

    /// Changes the record of what is durable, which is then saved even without a new byte.
    mutating func change(_ body: (inout Checkpoint) -> Void) {
      guard var record = self.body?.record else { return }
      body(&record)
      self.body?.record = record
      isRecordNew = true
    }
  }

  /// A transfer that has not begun.
  package init(
    _ order: TransferRequest, engine: Engine, io: IOPool, save: @escaping Save,
    observe: @escaping Observe = { _, _ in }
  ) {
    self.order = order
    self.engine = engine
    self.io = io
    self.save = save
    self.observe = observe
    var policy = TransferState.Policy()
    policy.maximumLength = order.maximumLength
    policy.expectedLength = order.expectedLength
    policy.digest = order.digest
    policy.expectedType = order.url.isFile ? nil : order.expectedType
    policy.acceptUnverifiedLength = order.acceptUnverifiedLength
    policy.mayBePages = !order.url.isFile
    policy.sendsBody = order.body != nil
    var checkpoint = order.resuming?.checkpoint
    if let earlier = checkpoint?.changes { checkpoint?.changes = max(earlier, order.changes) }
    checkpoint?.part = order.partName
    var state = TransferState(
      checkpoint: checkpoint, rangeUnsafe: order.rangeUnsafe, policy: policy)
    state.attempts.restore(changes: order.changes)
    state.present = order.present
    shared = Mutex(Shared(state: state))
    if let checkpoint, let part = order.resuming?.part {
      let writer = FileWriter(
        part, durable: checkpoint.durable,
        digests: order.digests(checking: state.wantedDigest), pool: io,
        whenReady: { [weak self] in self?.resumeExchange() })
      shared.withLock { shared in
        shared.body = PartBody(
          .write(writer), record: checkpoint, length: checkpoint.completeLength, generation: 0)
        shared.partName = order.partName
        shared.modified = checkpoint.modified
        shared.report.suggestedName = checkpoint.suggestedName
        shared.report.resumedAt = checkpoint.durable.prefixEnd
      }
    }
  }

  /// Ends the transfer with what is durable saved; ``run()`` returns `.stopped`. From any thread, at any time.
  package func stop() {
    change { shared in
      shared.isStopped = true
      shared.handle?.cancel()
    }
  }

  /// Stops reading, and begins no further exchange; sockets stay open. Nothing is saved by this.
  package func pause() {
    // Told under the lock, so that of two callers the later one's wish is the one that holds.
    change { shared in
      shared.isPaused = true
      shared.handle?.pause()
    }
  }

  /// Takes back ``pause()``.
  package func unpause() {
    change { shared in
      shared.isPaused = false
      if shared.asked != nil { shared.asked = .now }
      shared.handle?.unpause()
    }
  }

  /// Changes what is shared, and lets a run go on that waited for that.
  func change(_ body: (inout Shared) -> Void) {
    let (held, whenEnded) = shared.withLock {
      shared -> (CheckedContinuation<Void, Never>?, (@Sendable () -> Void)?) in
      body(&shared)
      let whenEnded = shared.isEnded ? shared.whenEnded : nil
      guard !shared.isHeld else { return (nil, whenEnded) }
      defer { shared.held = nil }
      return (shared.held, whenEnded)
    }
    held?.resume()
    whenEnded?()
  }

  /// Returns when the transfer is not paused, or is to end.
  func untilFree() async {
    await withCheckedContinuation { continuation in
      let isFree = shared.withLock { shared in
        if shared.isHeld { shared.held = continuation }
        return !shared.isHeld
      }
      if isFree { continuation.resume() }
    }
  }

  /// How far it is: bytes of the file, its length where known, and bytes received over the network.
  package var progress: (bytes: Int64, total: Int64?, fetched: Int64) {
    shared.withLock { shared in
      let total = shared.body?.record?.completeLength ?? shared.body?.end
      return (shared.body?.bytes ?? 0, total, shared.report.fetched)
    }
  }

  /// When its first body was opened, and when bytes of it came last; nil before.
  var received: (since: ContinuousClock.Instant, last: ContinuousClock.Instant)? {
    shared.withLock { shared in
      guard let since = shared.receivingSince, let last = shared.receivedAt else { return nil }
      return (since, last)
    }
  }

  /// Since when it waits for the first byte of an answer, or for the connection before; nil where it does not, or is paused.
  package var silentSince: ContinuousClock.Instant? {
    shared.withLock { $0.isPaused ? nil : $0.asked }
  }

  /// What is known besides the outcome; complete once ``run()`` has returned.
  package var report: TransferReport { shared.withLock { $0.report } }

  /// The names of all part files that it has started or continued. Some may no longer exist.
  var partNames: [String] {
    shared.withLock { $0.report.leftover + [$0.partName].compactMap(\.self) }
  }

  /// Lets go of the locks on its part files, after ``run()`` has returned.
  func unlockPart() {
    order.resuming?.part.unlock()
    shared.withLock { $0.body?.writer }?.openFile?.unlock()
  }

  private func resumeExchange() { shared.withLock { $0.handle }?.resume() }
}
