package import HaulSystem
import Synchronization

/// What a transfer is to bring, and where.
package struct TransferRequest: Sendable {
  /// The original URL; redirects are followed anew each time.
  package var url: WebURL
  /// Where part files live.
  package var parts: PartDirectory
  /// The part file's name; a second one, after the source has changed, gets `.1` appended, and so on.
  package var partName: String
  /// What is durable already, and its part file, which bears ``partName`` by now.
  package var resuming: (checkpoint: Checkpoint, part: PartFile)?
  /// What the source said of a finished file that stands where this one is to go: if it still has the same, the transfer
  /// ends as ``TransferOutcome/unchanged``. Of no account where there is something to resume.
  package var present: SourceRecord?
  /// Headers that the job asks with; they go where ``credentials`` do.
  package var fields: [RequestField] = []
  /// Headers that prove nothing about who asks: they go to every origin.
  package var openFields: [HeaderField] = []
  /// The body of a POST; nil for a GET. A POST is sent once and never resumed.
  package var body: [UInt8]?
  /// The proxy for all its requests; nil takes the engine's.
  package var proxy: ProxyAddress?
  /// Asked for a login when a server wants one (401); nil gives up.
  package var authenticate: (@Sendable (AuthenticationChallenge) async -> Login?)?
  /// Told of each redirect that is followed: from where, and to where.
  package var onRedirect: (@Sendable (_ from: WebURL, _ to: WebURL) -> Void)?
  /// Asked about each response before a byte of its body is taken, on the engine thread. An error ends the transfer.
  package var onResponse: (@Sendable (ResponseHead, WebURL) -> TransferError?)?
  /// Request fields that prove who asks: sent to the URL's own origin, and no more once a redirect has
  /// left it. Where there are some, the engine's ``DownloaderConfiguration/netrc`` is not asked for that origin.
  package var credentials: [ResponseHead.Field] = []
  /// The client certificate for the TLS handshake, for the origins that ``credentials`` go to.
  package var certificate: ClientCertificate?
  /// The login for FTP, SFTP and Digest, for the origins that ``credentials`` go to. Without one, ``DownloaderConfiguration/netrc`` may
  /// have one.
  package var login: Login?
  /// Which addresses the URL's own origin may have; nil takes the engine's policy. Redirects to other
  /// origins always fall under the engine's.
  package var addressPolicy: AddressPolicy?
  /// The host is known to answer ranges wrongly: none are asked of it.
  package var rangeUnsafe = false
  /// How often the source changed before; at three there is no more resuming.
  package var changes = 0
  /// The media type that the response must have, over HTTP.
  package var expectedType: ExpectedType?
  /// Checked before the transfer counts as complete.
  package var digest: ExpectedDigest?
  /// The file's SHA-256 is computed while its bytes come, whether or not a digest is checked.
  package var recordsDigest = false
  /// The complete file gets the time at which the source says that it was modified.
  package var takesRemoteTime = false
  /// The length in bytes that whoever ordered the file knows; it proves a body without length complete.
  package var expectedLength: Int64?
  /// Bytes above which the transfer fails; nil for no limit.
  package var maximumLength: Int64?
  /// The most bytes a second that are read of all its bodies; nil for no limit of its own.
  package var rateLimit: RateLimit?
  /// How long a connection may take to be made; nil takes the engine's limit.
  package var connectTimeout: Duration?
  /// How long the source may go without sending; nil takes the engine's limits.
  package var stallTimeout: Duration?
  /// A body without length that the peer closed counts as complete.
  package var acceptUnverifiedLength = false
  /// Checkpoint after so many bytes, or so much time, whichever comes first.
  package var checkpointBytes: Int64 = 64 << 20
  package var checkpointTime = Duration.seconds(5)
  /// The time of the first checkpoint, where that is to come sooner.
  package var firstCheckpoint: Duration?
  /// What cannot be synced in this time at a stop is given up to its last checkpoint.
  package var stopTime = Duration.milliseconds(500)
  /// Whether a record has been handed over that waits for an answer, and not for a disk. A stop waits for that answer without
  /// a limit, and then saves the rest.
  package var awaitsAnswer: @Sendable () -> Bool = { false }

  /// A download from 0 without conditions.
  package init(url: WebURL, parts: PartDirectory, partName: String) {
    self.url = url
    self.parts = parts
    self.partName = partName
  }
}

/// How a transfer ended.
package enum TransferOutcome: Sendable {
  /// Every byte is written and the digest is right; nothing is synced yet.
  case complete(part: PartFile, length: Int64)
  /// The source still has what ``TransferRequest/present`` is the record of. No byte was brought and no file touched.
  case unchanged
  /// ``PartTransfer/stop()`` was called. What could be synced in time has been saved.
  case stopped
  /// The owner said that it has no right to the job any more.
  case lost
  /// What was durable has been saved.
  case failed(TransferError)
}

/// What a transfer tells its owner besides its outcome.
package struct TransferReport: Sendable, Equatable {
  /// Nothing done yet.
  package init() {}

  /// Bytes received over the network.
  package var fetched: Int64 = 0
  /// The offset that work of an earlier attempt was good for.
  package var resumedAt: Int64 = 0
  /// How often the source turned out to have changed.
  package var changes = 0
  /// Whether a range was answered wrongly.
  package var isRangeUnsafe = false
  /// Status of the last answer.
  package var status: Int?
  /// What the source said of the complete file; nil where nothing of use to ``TransferRequest/present`` is known.
  package var source: SourceRecord?
  /// The complete file's digest, where it was checked or asked for.
  package var digest: ExpectedDigest?
  /// The name that the server sends for the file (Content-Disposition), fit for any directory; nil where it sent none.
  package var suggestedName: String?
  /// Whether the job asked for the source's time but the source sent none.
  package var isUndated = false
  /// Part files begun and given up for another. They may be removed once no checkpoint means them.
  package var leftover: [String] = []
}

/// Brings one representation into a part file, through as many exchanges as it takes.
///
/// The decisions are `TransferState`'s; this is the hand that carries them out. One run a value. Durable progress is
/// handed to `save` after it was synced: as often as the order says, at a stop and at a failure.
package final class PartTransfer: Sendable {
  /// Records durable progress; false means that the right to the job is gone.
  package typealias Save = @Sendable (Checkpoint) async -> Bool
  /// Told of each ruling of the decision table: row and what it led to, for logs.
  package typealias Observe = @Sendable (_ row: Int, _ verdict: String) -> Void

  /// The number of broken bodies, each within ``TransferRequest/checkpointBytes`` of the last, after which the rest is
  /// left to a later attempt.
  static let maximumBreaks = 8
  /// The size in bytes from which a file's space on the disk is reserved before its first byte comes.
  static let reservedFrom: Int64 = 1 << 20

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
    /// Length of the whole, once a body's end has told it.
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

  /// The names of all part files that it has begun or gone on with; some may not be there.
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
