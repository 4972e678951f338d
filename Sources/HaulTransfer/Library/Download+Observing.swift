import HaulSystem
import Synchronization

/// The functions that observe a download while it runs.
extension Download {
  /// The progress as a sequence: a value about four times a second, and one at the end.
  public var progress: ProgressSequence { ProgressSequence(download: self) }

  /// The progress at this moment.
  public var currentProgress: DownloadProgress { look().progress }

  /// The future events of the download. The first event is the present state. The sequence ends with the download.
  public var events: AsyncStream<DownloadEvent> {
    let (stream, continuation) = AsyncStream.makeStream(of: DownloadEvent.self)
    let key = shared.withLock { state -> Int? in
      continuation.yield(.state(state.phase))
      if let result = state.result {
        continuation.yield(.finished(result))
        continuation.finish()
        return nil
      }
      let key = state.key()
      state.observers[key] = continuation
      if state.ticker == nil { state.ticker = ticker() }
      return key
    }
    if let key {
      continuation.onTermination = { [weak self] _ in
        self?.shared.withLock { _ = $0.observers.removeValue(forKey: key) }
      }
    }
    return stream
  }

  /// Starts a task that sends progress while the events have observers. The task does not keep the download alive.
  private func ticker() -> Task<Void, Never> {
    Task { [weak self] in
      repeat {
        guard (try? await Task.sleep(for: Self.interval)) != nil else { return }
      } while self?.tick() == true
    }
  }

  /// Sends the progress if it has changed. Returns whether the ticker continues.
  private func tick() -> Bool {
    let before = shared.withLock { $0.sentProgress }
    let progress = look().progress
    return shared.withLock { state in
      // Newer progress was sent meanwhile.
      if state.sentProgress != before { return state.result == nil }
      guard state.result == nil, !state.observers.isEmpty else {
        state.ticker = nil
        return false
      }
      if state.phase == .running, progress != state.sentProgress { state.send(progress) }
      return true
    }
  }

  /// The time between two values of the progress.
  private static let interval = Duration.milliseconds(250)

  /// A sequence with the progress of a download, until the download ends.
  public struct ProgressSequence: AsyncSequence, Sendable {
    let download: Download

    /// Returns an iterator that starts with the present progress.
    public func makeAsyncIterator() -> Iterator { Iterator(download: download) }

    /// An iterator over the progress of one download.
    public struct Iterator: AsyncIteratorProtocol {
      let download: Download
      private var hasBegun = false
      private var hasEnded = false

      init(download: Download) {
        self.download = download
      }

      /// Returns the progress. The first call returns immediately, each later call after a quarter of a second. After the
      /// download has ended, the next call returns the final progress, and later calls return nil. Returns nil if the task is
      /// cancelled.
      public mutating func next() async -> DownloadProgress? {
        if hasEnded { return nil }
        if hasBegun, (try? await Task.sleep(for: Download.interval)) == nil { return nil }
        hasBegun = true
        let (progress, isOver) = download.look()
        hasEnded = isOver
        return progress
      }
    }
  }

  private func look() -> (progress: DownloadProgress, isOver: Bool) {
    let attempt = work.progress
    return shared.withLock { state in
      if state.phase == .running, let attempt {
        if let received = attempt.received {
          state.meter.update(
            fetched: attempt.fetched, since: received.since, received: received.last, now: .now)
        }
        state.last = (attempt.bytes, attempt.total)
      } else if state.phase != .finished, let saved = state.saved {
        state.last = (saved.bytes, saved.expected)
      }
      let (bytes, total) = state.last
      let rate = attempt?.rate ?? state.meter.rate
      let progress = DownloadProgress(bytes: bytes, expected: total, rate: rate)
      return (progress, state.phase == .finished)
    }
  }

  /// The metrics of the download so far: time, bytes and attempts.
  public var metrics: DownloadMetrics {
    let fetched = work.progress?.fetched ?? 0
    return shared.withLock { $0.spent.metrics(fetched: fetched, now: .now) }
  }

  // MARK: - Reports from the work

  /// Sends an event to all observers and monitors. Do not call this while holding the lock.
  func tell(_ event: DownloadEvent) {
    shared.withLock { $0.tell(event) }
    deliver()
  }

  /// Delivers events to the monitors, one after another and without holding the lock. A second caller (another thread, or a
  /// monitor that calls back) leaves its events to the first.
  func deliver() {
    let begins = shared.withLock { state in
      defer { state.isTelling = true }
      return !state.isTelling
    }
    guard begins else { return }
    while let event = shared.withLock({ $0.takeEvent() }) {
      for monitor in monitors { monitor.handle(event, of: self) }
      members?.handle(event, of: self)
      registry?.handle(event, of: self)
      if case .finished = event { letGo() }
    }
  }

  /// Ends the events and resumes all waiters, after every monitor has received the final event.
  private func letGo() {
    let (observers, waiters) = shared.withLock { state in
      state.isTold = true
      defer { (state.observers, state.waiters) = ([:], [:]) }
      return (state.observers.values, state.waiters.values)
    }
    for observer in observers { observer.finish() }
    for waiter in waiters { waiter.resume() }
  }

  /// Records that more bytes are durable. Ignores reports after the end of the download, because the disk may report late.
  func saved(_ data: ResumeData) {
    shared.withLock { state in
      guard state.result == nil else { return }
      state.saved = data
      state.tell(.saved(data))
    }
    deliver()
  }

  /// Forgets the resume data, because the download cannot be continued.
  func forgetSaved() { shared.withLock { $0.saved = nil } }

  /// Records the bytes of an attempt that is over.
  func remember(_ progress: AttemptProgress) {
    shared.withLock { state in
      state.last = (progress.bytes, progress.total)
      state.spent.fetched(progress.fetched)
    }
  }

  /// Handles a response. Returns the reason why Haul refuses the body; nil if Haul accepts the body.
  func received(_ response: DownloadResponse) -> TransferError? {
    shared.withLock { $0.response = response }
    tell(.response(response))
    do {
      try request.options.validate?(response)
      return try chooseName(response)
    } catch {
      shared.withLock { $0.refusal = error }
      return TransferError(refused: response, error)
    }
  }

  /// Chooses the file's name, if the request gives only a directory and no name is chosen yet. Returns why the name cannot be
  /// used; nil if it can be used, or if there is no name to choose.
  ///
  /// - Throws: The error that the program's ``DownloadOptions/destination`` throws.
  private func chooseName(_ response: DownloadResponse) throws -> TransferError? {
    guard request.isDirectory, chosenName == nil else { return nil }
    let name = try request.options.destination?(response) ?? response.fileName
    do throws(TransferError) {
      _ = try DownloadTarget.below(request.path, name)
      shared.withLock { $0.chosenName = name }
      return nil
    } catch {
      return error
    }
  }

  /// Chooses the file's name from the URL, for a download without a response.
  func chooseName(by url: WebURL) {
    guard request.isDirectory else { return }
    let name = FileName.last(of: url) ?? FileName.unknown
    shared.withLock { $0.chosenName = $0.chosenName ?? name }
  }

  /// The path of the file below the requested directory, chosen from the response or the URL; nil before it is chosen, and if
  /// the request gives the file's path.
  var chosenName: String? { shared.withLock { $0.chosenName } }

  /// The path of the file, or of the requested directory while the file has no name.
  var path: String { request.path + (chosenName ?? "") }

  // MARK: - Waiting for the end

  /// Returns when the download is over.
  func untilFinished() async {
    await withCheckedContinuation { continuation in
      if register(continuation) == nil { continuation.resume() }
    }
  }

  /// Returns when the download is over or the task is cancelled.
  func untilFinishedOrCancelled() async {
    let key = Mutex<Int?>(nil)
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let number = register(continuation)
        key.withLock { $0 = number }
        guard let number else { return continuation.resume() }
        // The cancellation handler may have run before `key` was set.
        if Task.isCancelled { unregister(number) }
      }
    } onCancel: {
      if let number = key.withLock(\.self) { unregister(number) }
    }
  }

  /// Registers a waiter and returns its key. Returns nil, and registers nothing, if the download is over.
  private func register(_ continuation: CheckedContinuation<Void, Never>) -> Int? {
    shared.withLock { state in
      guard !state.isTold else { return nil }
      let key = state.key()
      state.waiters[key] = continuation
      return key
    }
  }

  private func unregister(_ key: Int) {
    shared.withLock { $0.waiters.removeValue(forKey: key) }?.resume()
  }
}

extension Download.State {
  /// Records an event. Sequences receive it immediately, because this does not run the program's code. Monitors receive it from
  /// ``Download/deliver()``. Ignores events after the end of the download.
  mutating func tell(_ event: DownloadEvent) {
    guard result == nil else { return }
    for observer in observers.values { observer.yield(event) }
    outbox.append(event)
  }

  /// Sends progress to the sequences of events.
  mutating func send(_ progress: DownloadProgress) {
    guard result == nil else { return }
    sentProgress = progress
    for observer in observers.values { observer.yield(.progress(progress)) }
  }

  /// Takes the next event for the monitors; nil if there is none.
  mutating func takeEvent() -> DownloadEvent? {
    isTelling = !outbox.isEmpty
    return isTelling ? outbox.removeFirst() : nil
  }
}
