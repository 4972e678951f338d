package import HaulSystem
import Synchronization

/// Downloads one representation into a part file, in as many exchanges (requests with responses) as necessary.
///
/// `TransferState` makes the decisions, and this class carries them out. Call ``run()`` only once for each transfer. After a
/// sync, the transfer passes its durable progress to `save`: at the checkpoints that the ``TransferRequest`` configures, at a
/// stop and at a failure.
package final class PartTransfer: Sendable {
  /// Records durable progress. The function returns false if the worker has lost the lease of the job.
  package typealias Save = @Sendable (Checkpoint) async -> Bool
  /// A function for logs. Haul calls the function for each decision, with the verdict and the number of its row in the decision
  /// table. The functions `decide` and `decideEnd` hold the table.
  package typealias Observe = @Sendable (_ row: Int, _ verdict: String) -> Void

  /// After this many broken bodies, Haul leaves the rest to a later attempt. Bodies count together only if fewer than
  /// ``TransferRequest/checkpointBytes`` bytes came between one break and the next.
  static let maximumBreaks = 8

  let order: TransferRequest
  let engine: Engine
  let io: IOPool
  let save: Save
  let observe: Observe
  let shared: Mutex<Shared>

  /// The state that the engine thread, the checkpoint timer and the run share.
  struct Shared: Sendable {
    var state: TransferState
    /// The current body, or the last one; nil before the first.
    var body: PartBody?
    var report = TransferReport()
    /// The cookies that servers have set, each as a line of the Netscape format. They are sent with all later requests of this
    /// job, and of no other job.
    var cookies: [String] = []
    /// The handle of the current exchange; nil if none is in progress.
    var handle: ExchangeHandle?
    /// When the current exchange began to wait for its head; nil if it does not wait.
    var asked: ContinuousClock.Instant?
    /// The number of part files begun so far, for their names.
    var generation = 0
    /// The name of the part file in use; nil if there is none yet.
    var partName: String?
    /// The first of two downloads, with its length and digest (row 23 of the decision table); nil if there is none to compare
    /// with.
    var first: (part: PartFile, length: Int64, digest: [UInt8])?
    /// The origins that require Digest instead of Basic.
    var digestOrigins: Set<String> = []
    /// The logins from ``TransferRequest/authenticate``, and how often Haul got one. The key is the origin.
    var logins: [String: Login] = [:]
    var challenges: [String: Int] = [:]
    /// When the first body began, and when the latest bytes came; nil before the first body.
    var receivingSince: ContinuousClock.Instant?
    var receivedAt: ContinuousClock.Instant?
    /// The time of the source's last change, in the form of `Checkpoint.modified`; nil if it is not known.
    var modified: Int64?
    /// The decision on the last head; nil if the current exchange has no head yet.
    var ruling: Action?
    /// The reason why the file cannot get its final path; nil if it can, or if the path was not checked.
    var refusal: TransferError?
    /// The length of the whole file, known from the end of a body; nil before.
    var length: Int64?
    var isPaused = false
    /// The continuation of the run if it waits for the end of a pause before it sends its next request; otherwise nil.
    var held: CheckedContinuation<Void, Never>?
    /// The function that stops asking the owner for a login, called when the run must end; nil if Haul has not asked.
    var whenEnded: (@Sendable () -> Void)?
    var isStopped = false
    var isLost = false
    /// Whether the run has its outcome. Then nothing more is saved.
    var isOver = false
    /// Whether the run must end as soon as possible.
    var isEnded: Bool { isStopped || isLost }
    /// Whether no request may be sent now.
    var isHeld: Bool { isPaused && !isEnded }
    /// Whether the transfer saves regularly: from the first body that needs more than one buffer until the run ends.
    var savesRegularly = false
    /// The checkpoint in progress; nil if there is none.
    var saving: Task<Void, Never>?
    /// The number of bytes fetched when progress was last saved.
    var savedFetched: Int64 = 0
    /// Whether the record has unsaved changes other than bytes.
    var isRecordNew = false
    /// The beginning of a response that may be an error page; nil for any other response.
    var preview: ResponsePreview?
    /// The trial of the current body; nil if it is not on trial.
    var trial: PartTrial?

    /// Changes the record of the durable bytes. The record is then saved even without a new byte.
    mutating func change(_ body: (inout Checkpoint) -> Void) {
      guard var record = self.body?.record else { return }
      body(&record)
      self.body?.record = record
      isRecordNew = true
    }
  }

  /// Creates a transfer without starting it.
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
    policy.isHTTP = !order.url.isFile
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

  /// Ends the transfer and saves the durable bytes; ``run()`` returns `.stopped`. You can call this function on any thread at
  /// any time.
  package func stop() {
    change { shared in
      shared.isStopped = true
      shared.handle?.cancel()
    }
  }

  /// Stops reading, and starts no further exchange. Sockets stay open. This function saves nothing.
  package func pause() {
    // `change` holds the lock, so that the last of several callers decides.
    change { shared in
      shared.isPaused = true
      shared.handle?.pause()
    }
  }

  /// Ends ``pause()``.
  package func unpause() {
    change { shared in
      shared.isPaused = false
      if shared.asked != nil { shared.asked = .now }
      shared.handle?.unpause()
    }
  }

  /// Changes the shared state. Continues a waiting run if the pause is over or if the run must end.
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

  /// Returns when the transfer is not paused, or must end.
  func untilFree() async {
    await withCheckedContinuation { continuation in
      let isFree = shared.withLock { shared in
        if shared.isHeld { shared.held = continuation }
        return !shared.isHeld
      }
      if isFree { continuation.resume() }
    }
  }

  /// The number of bytes of the file so far, the file's length in bytes if known, and the number of bytes received over the
  /// network.
  package var progress: (bytes: Int64, total: Int64?, fetched: Int64) {
    shared.withLock { shared in
      let total = shared.body?.record?.completeLength ?? shared.body?.end
      return (shared.body?.bytes ?? 0, total, shared.report.fetched)
    }
  }

  /// When the first body began, and when the latest bytes came; nil before the first byte.
  var received: (since: ContinuousClock.Instant, last: ContinuousClock.Instant)? {
    shared.withLock { shared in
      guard let since = shared.receivingSince, let last = shared.receivedAt else { return nil }
      return (since, last)
    }
  }

  /// When the transfer began to wait for a connection or for the first byte of a response. Nil if the transfer does not wait,
  /// or is paused.
  package var silentSince: ContinuousClock.Instant? {
    shared.withLock { $0.isPaused ? nil : $0.asked }
  }

  /// Further facts about the transfer, in addition to its outcome. They are complete once ``run()`` has returned.
  package var report: TransferReport { shared.withLock { $0.report } }

  /// The names of all part files that this transfer has started or continued. Some may no longer exist.
  var partNames: [String] {
    shared.withLock { $0.report.leftover + [$0.partName].compactMap(\.self) }
  }

  /// Releases the locks on the part files. Call it after ``run()`` has returned.
  func unlockPart() {
    order.resuming?.part.unlock()
    shared.withLock { $0.body?.writer }?.openFile?.unlock()
  }

  private func resumeExchange() { shared.withLock { $0.handle }?.resume() }
}
