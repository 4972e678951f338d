import HaulSystem
import Synchronization

/// One download under way, as URLSession's task is: it goes on whether anybody waits for it or not.
public final class Download: Sendable {
  private struct State: Sendable {
    /// While it runs; its `save` holds this download.
    var transfer: PartTransfer?
    /// Once it is over.
    var last: (bytes: Int64, total: Int64?, fetched: Int64) = (0, nil, 0)
    /// ``pause()`` was called: the part file is to stay.
    var isPaused = false
    var isStopped = false
    var isOver = false
    /// What is durable.
    var saved: Checkpoint?
  }

  /// What was asked for.
  public let request: DownloadRequest
  /// Whether anybody could go on from what a failure leaves.
  private let keepsPart: Bool
  private let place: DownloadQueue.Place?
  private let engine: Engine
  private let io: IOPool
  private let state: Mutex<State>
  private let task = Mutex<Task<Result<DownloadedFile, TransferError>, Never>?>(nil)

  init(
    _ request: DownloadRequest, from data: ResumeData? = nil, keepsPart: Bool = true,
    place: DownloadQueue.Place? = nil, engine: Engine, io: IOPool
  ) {
    self.request = request
    self.keepsPart = keepsPart
    self.place = place
    self.engine = engine
    self.io = io
    state = Mutex(State(saved: data?.checkpoint))
    task.withLock { $0 = Task { await self.run() } }
  }

  /// The file, complete and durable under its name. Cancelling the task that waits does not cancel the download.
  ///
  /// - Throws: `cancelled` after ``cancel()``, ``pause()`` or the downloader's end; else why it failed.
  public var value: DownloadedFile {
    get async throws(TransferError) { try await result.get() }
  }

  /// The file or the error that ``value`` would return or throw.
  var result: Result<DownloadedFile, TransferError> {
    get async {
      guard let task = task.withLock({ $0 }) else {
        return .failure(TransferError(.cancelled, "the download never began"))
      }
      return await task.value
    }
  }

  /// Ends the download and removes its part file.
  public func cancel() {
    stop { _ in }
  }

  /// Ends the download, keeps what can be resumed, and returns once the download has ended.
  ///
  /// - Returns: nil where the download was complete or had failed before, or cannot be resumed: the server gives
  ///   no length, or no validator that is strong enough. Then no part file is left.
  public func pause() async -> ResumeData? {
    beginPause()
    _ = await result
    return resumeData
  }

  /// Begins what ``pause()`` does, and returns without waiting for the end.
  func beginPause() {
    stop { $0.isPaused = true }
  }

  /// What it can be gone on from: after a failure or ``pause()``, and, for a program that may be killed,
  /// while it runs. Then it grows every 64 MiB or 5 s, whichever comes first, and is good once the process
  /// is gone; until then only this download writes to the partial file.
  ///
  /// Nil after a success or ``cancel()``, and where it cannot be resumed.
  public var resumeData: ResumeData? {
    ResumeData(state.withLock { $0.saved })
  }

  /// How far it is, about four times a second, and once more at its end; each loop gets its own.
  public var progress: ProgressSequence { ProgressSequence(download: self) }

  /// Progress as it comes about; ends with the download.
  public struct ProgressSequence: AsyncSequence, Sendable {
    let download: Download

    /// Begins with how far it is now.
    public func makeAsyncIterator() -> Iterator { Iterator(download: download) }

    /// Keeps what the rate is computed from.
    public struct Iterator: AsyncIteratorProtocol {
      let download: Download
      private var last: (fetched: Int64, at: ContinuousClock.Instant)?
      private var rate = 0.0
      private var hasEnded = false

      init(download: Download) {
        self.download = download
      }

      /// Waits a quarter of a second, but for the first. Cancelled, it ends the sequence.
      public mutating func next() async -> DownloadProgress? {
        if hasEnded { return nil }
        if last != nil, (try? await Task.sleep(for: .milliseconds(250))) == nil { return nil }
        let (now, isOver) = download.look()
        hasEnded = isOver
        let instant = ContinuousClock.now
        if let last {
          let recent = Double(now.fetched - last.fetched) / ((instant - last.at) / .seconds(1))
          rate += (recent - rate) / 8
        }
        last = (now.fetched, instant)
        return DownloadProgress(bytes: now.bytes, expected: now.total, rate: rate)
      }
    }
  }

  // MARK: - The run

  private func look() -> ((bytes: Int64, total: Int64?, fetched: Int64), isOver: Bool) {
    state.withLock { state in
      if state.isOver { return (state.last, true) }
      let waiting = (state.saved?.durable.count ?? 0, state.saved?.completeLength, Int64(0))
      return (state.transfer?.progress ?? waiting, false)
    }
  }

  private func stop(_ change: (inout State) -> Void) {
    state.withLock { state in
      change(&state)
      state.isStopped = true
      return state.transfer
    }?.stop()
    place?.skip()
  }

  private func run() async -> Result<DownloadedFile, TransferError> {
    await place?.turn()
    let result: Result<DownloadedFile, TransferError>
    do throws(TransferError) {
      result = .success(try await fetch())
    } catch {
      result = .failure(error)
    }
    state.withLock { state in
      state.isOver = true
      state.last = state.transfer?.progress ?? state.last
      state.transfer = nil
      guard case .success(let file) = result else { return }
      state.saved = nil
      (state.last.bytes, state.last.total) = (file.bytes, file.bytes)
    }
    place?.leave()
    return result
  }

  private func fetch() async throws(TransferError) -> DownloadedFile {
    let (path, options, saved) = (request.path, request.options, state.withLock { $0.saved })
    let (target, order, existing) = try await io.run { [request] () throws(TransferError) in
      let target = try DownloadTarget(path)
      let existing = try target.existing(options.ifExists)
      return (target, try Self.order(request, target, saved), existing)
    }
    if let existing { return existing }
    if order.resuming == nil { state.withLock { $0.saved = nil } }
    let transfer = PartTransfer(
      order, engine: engine, io: io,
      save: { [self, url = request.url] in
        var checkpoint = $0
        checkpoint.url = url
        state.withLock { $0.saved = checkpoint }
        return true
      })
    let isStopped = state.withLock { state in
      state.transfer = transfer
      return state.isStopped
    }
    if isStopped { transfer.stop() }
    let outcome = await transfer.run()
    return try await io.run { [self] () throws(TransferError) in
      try end(outcome, transfer, target)
    }
  }

  /// The order, resuming where the part that `saved` means is there.
  private static func order(
    _ request: DownloadRequest, _ target: DownloadTarget, _ saved: Checkpoint?
  ) throws(TransferError) -> TransferRequest {
    var order = TransferRequest(
      url: try WebURL(request.url, schemes: WebURL.knownSchemes), parts: target.parts,
      partName: target.newPartName())
    if let saved,
      let part = try target.parts.open(
        saved.part, inode: saved.inode, holding: saved.durable.end, of: saved.completeLength)
    {
      order.partName = saved.part
      order.resuming = (saved, part)
    }
    order.digest = request.options.digest
    order.maximumLength = request.options.maximumLength
    order.acceptUnverifiedLength = request.options.acceptUnverifiedLength
    order.credentials = request.options.credentials
    // Nobody else waits for the part: a pause may take as long as the disk does.
    order.stopTime = .seconds(60)
    return order
  }

  /// Publishes a complete part, or leaves no more behind than can be gone on from.
  private func end(
    _ outcome: TransferOutcome, _ transfer: PartTransfer, _ target: DownloadTarget
  ) throws(TransferError) -> DownloadedFile {
    do throws(TransferError) {
      guard case .complete(let part, let length) = outcome else {
        if case .failed(let error) = outcome { throw error }
        throw TransferError(.cancelled, "the download was ended")
      }
      let file = try target.publish(part, length: length, options: request.options)
      for name in transfer.partNames where name != part.name { try target.parts.remove(name) }
      return file
    } catch {
      let kept = state.withLock { state in
        if error.errorClass == .cancelled ? !state.isPaused : !keepsPart { state.saved = nil }
        return state.saved?.part
      }
      for name in transfer.partNames where name != kept { try target.parts.remove(name) }
      throw error
    }
  }
}
