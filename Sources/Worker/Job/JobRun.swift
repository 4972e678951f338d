import HaulSystem
import HaulTransfer
import JobModel
import JobQueue
import Log
import Stores
import Synchronization

/// One run of a lease: takes over an earlier part file, transfers, and publishes.
final class JobRun: Sendable {
  let lease: Lease
  /// The time when the call that claimed the job was first sent.
  let claimed: ContinuousClock.Instant
  /// When heartbeats begin to report the lease.
  let listed = ContinuousClock.now
  let environment: RunEnvironment
  let logger: Logger
  private let state = Mutex(State())

  private struct State {
    var transfer: PartTransfer?
    var isStopped = false
    var isAbandoned = false
    var isSuspended = false
    var hasBegun = false
    var isPublishing = false
    var waitsForDisk = false
    /// How long the run had waited for its first byte when other jobs needed its slot; nil if that did not happen.
    var silence: Duration?
    var kept: Int64 = 0
  }

  private let onPublishing: @Sendable () -> Void

  /// Creates a run.
  ///
  /// - Parameter onPublishing: called when all bytes have arrived, before they are published.
  init(
    _ lease: Lease, claimed: ContinuousClock.Instant, _ environment: RunEnvironment,
    onPublishing: @escaping @Sendable () -> Void
  ) {
    self.lease = lease
    self.claimed = claimed
    self.environment = environment
    self.onPublishing = onPublishing
    logger = environment.logger.with(
      (.job, LogValue(lease.job)), (.token, LogValue(lease.token)))
  }

  /// The progress of the transfer: bytes of the file, its length if known, and bytes received over the network.
  var progress: (bytes: Int64, total: Int64?, fetched: Int64) {
    state.withLock { $0.transfer }?.progress ?? (0, nil, 0)
  }

  /// The state of the transfer for the worker's report.
  var snapshot: RunningTransfer {
    let (transfer, kept) = state.withLock { ($0.transfer, $0.kept) }
    let (bytes, total, fetched) = transfer?.progress ?? (0, nil, 0)
    return RunningTransfer(
      token: lease.token, path: lease.path, bytes: bytes, total: total, fetched: fetched,
      kept: kept,
      changes: transfer?.report.changes ?? 0, isComparing: transfer?.isSecond ?? false)
  }

  /// Ends the run and saves its progress, for a drain, cancel or pause. If the file is being published, the run finishes that
  /// first.
  func stop() { halt { $0.isStopped = true } }

  /// Ends the run because its lease is lost. The database learns only the number of received bytes, if anything.
  func abandon() {
    halt {
      $0.isStopped = true
      $0.isAbandoned = true
    }
  }

  /// Ends the run because its host has been silent for `time` and other jobs need the slot. Does nothing if the host has
  /// answered.
  func giveUp(after time: Duration) {
    guard let transfer = state.withLock({ $0.isStopped ? nil : $0.transfer }),
      transfer.report.status == nil
    else { return }
    halt { state in
      if !state.isStopped { state.silence = time }
      state.isStopped = true
    }
  }

  /// When the run began to wait for the first byte of an answer; nil if it does not wait.
  var silentSince: ContinuousClock.Instant? {
    state.withLock { $0.hasBegun ? $0.transfer : nil }?.silentSince
  }

  /// Pauses the transfer until the lease is confirmed. The socket stays open.
  func suspend() { transfer { $0.isSuspended = true }?.pause() }

  /// Ends ``suspend()``.
  func resume() { transfer { $0.isSuspended = false }?.unpause() }

  /// Whether the transfer has begun. Before that, the run waits for a slot.
  var hasBegun: Bool { state.withLock { $0.hasBegun } }

  /// Whether all bytes have arrived, so that the run waits for the disk and not for the network.
  var isPublishing: Bool { state.withLock { $0.isPublishing } }

  /// Whether the run's disk was found to hang. The value stays true when the disk answers again.
  var waitsForDisk: Bool {
    get { state.withLock { $0.waitsForDisk } }
    set { state.withLock { $0.waitsForDisk = newValue } }
  }

  var isAbandoned: Bool { state.withLock { $0.isAbandoned } }

  /// Changes the state and stops the transfer. A run that waits for a slot is stopped too, before its transfer begins.
  private func halt(_ change: (inout State) -> Void) {
    transfer(change)?.stop()
    environment.slots.skip(lease.token)
  }

  private func transfer(_ change: (inout State) -> Void) -> PartTransfer? {
    state.withLock { state in
      change(&state)
      return state.transfer
    }
  }

  /// Runs the job to its end. Returns nil if the lease is lost, so that there is no end to report.
  func run() async -> LeaseEnding? {
    let used = environment.stores[lease.store]
    guard var ending = await ending() else { return nil }
    // A disk fault is not the job's fault: give the job back unchanged, and claim no other job for that store.
    if ending.result == .failed, let word = ending.error,
      await environment.watch.closes(used, after: word)
    {
      ending.result = .released
    }
    if ending.path != lease.path { ending.jobPath = lease.path }
    return ending
  }

  private func ending() async -> LeaseEnding? {
    // The reply to the claim may be late, and another worker may have the job by now.
    guard await environment.keeper.confirm(lease.token) else {
      return isAbandoned
        ? lost(TransferReport())
        : LeaseEnding(job: lease.job, token: lease.token, result: .released)
    }
    Failpoint.hit(.afterClaim, path: lease.path)
    do throws(TransferError) {
      return try await carryOut()
    } catch {
      return isAbandoned ? nil : failure(error, report: TransferReport())
    }
  }

  private func carryOut() async throws(TransferError) -> LeaseEnding? {
    guard let store = environment.stores[lease.store] else {
      throw TransferError(.io, "this worker does not mount the store \(lease.store)")
    }
    let url = try WebURL(lease.url, schemes: WebURL.knownSchemes)
    guard !url.hasCredentials else {
      throw TransferError(
        .blockedURL, "the URL contains a user or password, which Haul does not send")
    }
    guard let path = try? RelativePath(lease.destination) else {
      throw TransferError(
        .pathConflict, "the path \(lease.destination) does not name a file below the store")
    }
    let identity = try await identity(for: url, store)
    let parts = try await store.parts(pool: environment.pool, job: lease.job)
    let takeOver = TakeOver(lease: lease, parts: parts, store: store)
    var order = TransferRequest(
      url: url, parts: parts, partName: PartName(job: lease.job, token: lease.token).text)
    // Save the facts of the first response early, in case the worker dies.
    order.firstCheckpoint = .seconds(1)
    order.fields = identity.fields
    order.credentials = identity.credential?.fields ?? []
    order.certificate = identity.credential?.certificate
    order.login = identity.credential?.login
    switch try await takeOver.look() {
    case .published(let published, let bytes, let digest):
      logger.info(
        .jobResumed, (.path, LogValue(published.description)),
        (.reason, "an earlier attempt has already published the file"))
      return completed(
        bytes: bytes, path: published.description, report: TransferReport(),
        digest: digest)
    case .part(let checkpoint, let part):
      order.resuming = (checkpoint, part)
      order.present = try await source(ofFileAt: path, in: store)
      state.withLock { $0.kept = checkpoint.durable.prefixEnd }
      logger.info(
        .jobResumed, (.host, LogValue(lease.host)), (.path, LogValue(lease.path)),
        (.offset, LogValue(checkpoint.durable.prefixEnd)),
        (.total, LogValue(checkpoint.completeLength)),
        (.attempt, LogValue(lease.attempt)))
    case .nothing:
      if let ending = try await endingBeforeTransfer(store, path) { return ending }
      order.present = try await source(ofFileAt: path, in: store)
      logger.info(
        .jobStarted, (.host, LogValue(lease.host)), (.path, LogValue(lease.path)),
        (.attempt, LogValue(lease.attempt)))
    }
    return try await transfer(order, into: parts, to: path, in: store)
  }

  /// Returns the ending if the policy skips an existing file; otherwise nil. Throws if the policy or a missing right forbids the
  /// final name; the rename checks this again. After a rescue, an existing file may come from an earlier attempt of this job.
  /// The function then returns nil, and Haul compares the file with the part file after the download.
  private func endingBeforeTransfer(
    _ store: Store, _ path: RelativePath
  ) async throws(TransferError) -> LeaseEnding? {
    // The file's final name is not known yet.
    if lease.isNamedByServer { return nil }
    let occupant = try await store.io.run { () throws(TransferError) in
      let occupant = try store.destination.occupant(of: path)
      if occupant == nil { try store.destination.requireRight(toMake: path) }
      return occupant
    }
    switch (occupant, lease.policy) {
    case (.directory, .fail), (.directory, .skip), (.directory, .replace): throw .directory(path)
    case (.file, .fail) where lease.rescued != true: throw .exists(path)
    case (.file(let length), .skip) where lease.rescued != true:
      return skipped(bytes: length, path: path.description, report: TransferReport())
    default: return nil
    }
  }

  /// Returns the job's request fields, and the credential that it names.
  private func identity(
    for url: WebURL, _ store: Store
  ) async throws(TransferError) -> (fields: [RequestField], credential: Credential?) {
    let fields: [RequestField]
    do throws(RequestField.Problem) {
      fields = try RequestField.all(lease.options.headers ?? [])
    } catch {
      throw TransferError(.blockedURL, "\(error)")
    }
    if url.isFile, !fields.isEmpty {
      throw TransferError(
        .blockedURL, "the job has request headers, which \(url.scheme) does not support")
    }
    guard let name = lease.options.credential else { return (fields, nil) }
    let credential = try await store.io.run { [environment] () throws(TransferError) in
      try CredentialDirectory.credential(name, in: environment.credentials)
    }
    guard credential.maySend(to: url) else {
      throw TransferError(
        .blockedCredential,
        "on this worker, the credential \(name) is not allowed for \(url.scheme)://\(url.hostKey)")
    }
    try credential.requireUse(at: url, name: name)
    return (fields, credential)
  }

  /// Returns the order with the job's options added.
  private func completedOrder(_ order: TransferRequest) throws(TransferError) -> TransferRequest {
    var order = order
    order.rangeUnsafe = lease.rangeUnsafe ?? false
    order.changes = lease.changes ?? 0
    order.maximumLength = lease.options.maxBytes
    order.expectedLength = lease.options.length
    order.rateLimit = lease.options.maxRate.map { RateLimit(bytesPerSecond: max($0, 1)) }
    order.recordsDigest = lease.options.recordDigest ?? environment.recordsDigests
    order.takesRemoteTime = lease.options.remoteTime ?? false
    order.connectTimeout = lease.options.connectTimeout.map { .seconds(max($0, 1)) }
    order.stallTimeout = lease.options.stallTimeout.map { .seconds(max($0, 1)) }
    if let text = lease.options.expectType {
      guard let type = ExpectedType(text) else {
        throw TransferError(.suspectPage, "the job's expect_type \(text) is not a media type")
      }
      order.expectedType = type
    }
    if environment.allowsOwnOrigins { order.addressPolicy = .unrestricted }
    order.acceptUnverifiedLength = lease.options.acceptUnverifiedLength ?? false
    if let text = lease.options.digest {
      guard let digest = ExpectedDigest(spelled: text) else {
        throw TransferError(
          .digest, "the job's digest \(text) has an unknown algorithm or a wrong length")
      }
      order.digest = digest
    }
    return order
  }

  private func transfer(
    _ order: TransferRequest, into parts: PartDirectory, to path: RelativePath, in store: Store
  ) async throws(TransferError) -> LeaseEnding? {
    let saver = CheckpointSaver(
      lease: lease, parts: parts, store: store, environment: environment, logger: logger)
    var order = try completedOrder(order)
    order.awaitsAnswer = { saver.awaitsAnswer }
    let transfer = PartTransfer(
      order, engine: environment.engine, io: store.io,
      save: { await saver.save($0) },
      observe: { [logger] row, verdict in
        logger.debug(.jobRuling, (.row, LogValue(row)), (.reason, LogValue(verdict)))
      })
    let outcome = await inTurn(transfer)
    let report = transfer.report
    let (place, policy) = lease.place(suggestedName: report.suggestedName, instead: path)
    let publisher = Publisher(
      lease: lease, environment: environment, store: store, parts: parts, path: place,
      policy: policy, digest: report.digest)
    return await ending(
      of: outcome, report, isKept: order.resuming != nil || saver.hasSaved, publisher)
  }

  /// Runs the transfer once it has a slot.
  private func inTurn(_ transfer: PartTransfer) async -> TransferOutcome {
    let (isStopped, isSuspended) = state.withLock { state in
      state.transfer = transfer
      return (state.isStopped, state.isSuspended)
    }
    if isSuspended { transfer.pause() }
    if isStopped { transfer.stop() }
    let rank: TransferSlots.Rank =
      switch lease.hostFailures {
      case nil: .answered
      case let failures?: failures < 0 ? .new : .again
      }
    await environment.slots.enter(lease.token, rank: rank) { state.withLock { $0.isStopped } }
    state.withLock { $0.hasBegun = true }
    let outcome = await transfer.run()
    environment.slots.leave(lease.token)
    return outcome
  }

  /// Publishes a complete file, and returns the ending. `isKept` means that the database has a checkpoint of the part. Without a
  /// checkpoint, the part of a failed or stopped transfer is removed.
  private func ending(
    of outcome: TransferOutcome, _ report: TransferReport, isKept: Bool, _ publisher: Publisher
  ) async -> LeaseEnding? {
    switch outcome {
    case .complete(let part, let length):
      state.withLock { $0.isPublishing = true }
      onPublishing()
      return await publish(part, length, report, isKept: isKept, publisher)
    case .unchanged: return unchanged(report)
    case .stopped:
      if isAbandoned { return lost(report) }
      if !isKept { await removeOwnParts(publisher.parts, of: publisher.store) }
      return released(report, silence: state.withLock { $0.silence })
    case .lost: return lost(report)
    case .failed(let error):
      if !isKept { await removeOwnParts(publisher.parts, of: publisher.store) }
      return failure(error, report: report)
    }
  }
}
