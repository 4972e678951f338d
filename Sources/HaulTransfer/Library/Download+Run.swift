import HaulSystem
import Synchronization

/// The functions that run a download from its start to its end.
extension Download {
  // MARK: - Waiting for a turn

  func ticket(_ stay: Int) -> DownloadGate.Ticket {
    DownloadGate.Ticket(download: ObjectIdentifier(self), number: stay)
  }

  /// Puts the download in line at its first gate. Does nothing if the download is no longer waiting, or if its latest stay in
  /// the gates does not have the number `stay`.
  func enter(after stay: Int = 0) {
    let ticket = shared.withLock { state -> DownloadGate.Ticket? in
      guard state.phase == .waiting, state.stay == stay else { return nil }
      state.stay += 1
      state.passed = 0
      return self.ticket(state.stay)
    }
    guard let ticket else { return }
    if let first = gates.first { wait(at: first, ticket) } else { admitted(ticket) }
  }

  private func wait(at gate: DownloadGate, _ ticket: DownloadGate.Ticket) {
    gate.add(self, ticket)
    // Handles this order: the download is ended → it leaves the gates → it is added.
    if shared.withLock({ $0.stay != ticket.number }) { leave(ticket) }
  }

  /// Continues after a gate has admitted the download: enters the next gate, or starts the attempt.
  func admitted(_ ticket: DownloadGate.Ticket) {
    let passed = shared.withLock { state -> Int? in
      guard state.phase == .waiting, state.stay == ticket.number else { return nil }
      state.passed += 1
      if state.passed >= gates.count {
        startTimer(&state)
        state.spent.begin(now: .now)
        state.change(to: .running)
      }
      return state.passed
    }
    guard let passed else { return leave(ticket) }
    if passed < gates.count { return wait(at: gates[passed], ticket) }
    Task { settle(await work.attempt(self), ticket) }
    deliver()
  }

  private func leave(_ ticket: DownloadGate.Ticket) {
    for gate in gates { gate.remove(ticket) }
  }

  // MARK: - How an attempt ends

  private func settle(
    _ result: Result<DownloadedFile, TransferError>, _ ticket: DownloadGate.Ticket
  ) {
    leave(ticket)
    let stay = shared.withLock { state -> Int? in
      state.meter.stop()
      state.spent.end(now: .now)
      guard case .failure(let error) = result else {
        state.finish(result)
        return nil
      }
      return settle(error, &state)
    }
    if let stay { enter(after: stay) }
    deliver()
  }

  /// Decides what happens after a failure. Returns the number of the latest stay if the download must enter the line again
  /// immediately; otherwise nil.
  private func settle(_ error: TransferError, _ state: inout State) -> Int? {
    let isStopped = error.errorClass == .cancelled
    switch state.wish {
    case .cancel:
      // Handles this order: the attempt keeps its part → `cancel()` → the attempt is over.
      endRemoving(.failure(error), &state)
    case .timeOut where isStopped: state.finish(.failure(timedOut))
    case .suspend where isStopped:
      let isResumed = state.endSuspension()
      state.change(to: isResumed ? .waiting : .paused)
      return isResumed ? state.stay : nil
    case .suspend, .complete:
      guard let delay = retryDelay(after: error, &state) else {
        state.finish(.failure(error))
        return nil
      }
      if state.wish == .suspend, !state.endSuspension() {
        state.change(to: .paused)
      } else {
        retry(after: delay, error, &state)
      }
    default: state.finish(.failure(error))
    }
    return nil
  }

  private func retryDelay(after error: TransferError, _ state: inout State) -> Duration? {
    guard let policy = request.options.retry, state.refusal == nil else { return nil }
    return policy.delay(
      after: error, &state.failures, now: .now, dice: Double.random(in: 0..<1))
  }

  private func retry(after delay: Duration, _ error: TransferError, _ state: inout State) {
    state.stay += 1
    state.passed = gates.count
    state.change(to: .waiting)
    state.tell(.retrying(after: delay, error))
    state.retry = Task { [stay = state.stay] in
      guard (try? await Task.sleep(for: delay.clamped)) != nil else { return }
      enter(after: stay)
    }
  }

  private var timedOut: TransferError {
    let time = request.options.timeout ?? .zero
    return TransferError(.timeout, "the download did not finish within \(time)")
  }

  private func startTimer(_ state: inout State) {
    guard let timeout = request.options.timeout, state.timer == nil else { return }
    state.timer = Task { [weak self] in
      guard (try? await Task.sleep(for: timeout.clamped)) != nil else { return }
      self?.end(.timeOut)
    }
  }

  // MARK: - Ending the download

  private enum Ending {
    case nothing
    /// The attempt in progress must stop.
    case stop
    /// The download must stop waiting for its turn.
    case leave
    /// The download had already ended, and its queue removes it from the list.
    case forget
  }

  /// Ends the run according to `wish`. A cancellation takes precedence over all other wishes.
  func end(_ wish: Wish) { end { _ in wish } }

  /// Ends the download because its downloader shuts down.
  func endWithDownloader() {
    end { [isListed = members?.areListed ?? false] in
      isListed || $0.isSuspended ? .pause : .cancel
    }
  }

  private func end(_ choose: (State) -> Wish) {
    let (ending, ticket) = shared.withLock { state -> (Ending, DownloadGate.Ticket) in
      let ticket = self.ticket(state.stay)
      let wish = choose(state)
      if wish == .pause, state.isSuspended { state.endedSuspended = true }
      let ending = self.ending(wish, &state)
      if case .leave = ending { state.leaveLine() }
      return (ending, ticket)
    }
    switch ending {
    case .nothing: break
    case .stop:
      work.stop()
      members?.update(self)
    case .leave:
      leave(ticket)
      members?.update(self)
    case .forget: members?.forget(self)
    }
    deliver()
  }

  private static let cancelled = TransferError(.cancelled, "the download was cancelled")

  private func ending(_ wish: Wish, _ state: inout State) -> Ending {
    switch (state.phase, wish) {
    case (.finished, .cancel):
      if let data = state.saved { remove(data, &state) }
      state.saved = nil
      return .forget
    case (.finished, _), (.paused, .suspend): return .nothing
    case (.running, _):
      if wish == .suspend, state.wish == .suspend { state.isResumed = false }
      guard wish.rank > state.wish.rank else { return .nothing }
      state.wish = wish
      state.isResumed = false
      return .stop
    case (.waiting, .suspend): state.change(to: .paused)
    case (_, .cancel):
      state.wish = .cancel
      endRemoving(.failure(Self.cancelled), &state)
    case (_, .timeOut): state.finish(.failure(timedOut))
    default: state.finish(.failure(Self.cancelled))
    }
    return .leave
  }

  // MARK: - The partial file

  /// Removes the partial file, then ends the download.
  private func endRemoving(_ result: Result<DownloadedFile, TransferError>, _ state: inout State) {
    guard let data = state.saved else { return state.finish(result) }
    // The download counts as running during the removal.
    (state.phase, state.saved) = (.running, nil)
    remove(data, thenFinish: result, &state)
  }

  private func remove(
    _ data: ResumeData, thenFinish result: Result<DownloadedFile, TransferError>? = nil,
    _ state: inout State
  ) {
    registry?.begin()
    state.removal = Task {
      // Another download may be waiting for its turn to continue this file. It does not hold a lock on the file yet.
      if registry?.continues(data) != true { await work.discard(data) }
      registry?.forget(data)
      if let result {
        shared.withLock { $0.finish(result) }
        deliver()
      }
      registry?.end()
    }
  }

  /// Returns when the removal of the partial file has ended, if ``cancel()`` started one.
  func untilRemoved() async { await shared.withLock { $0.removal }?.value }

  /// Whether ``cancel()`` was called before the download ended.
  var isCancelled: Bool { shared.withLock { $0.wish == .cancel } }

  /// Whether the download is still expected to create its file.
  var isToComplete: Bool { shared.withLock { $0.wish == .complete && $0.result == nil } }

  /// Whether the partial file stays when the downloader shuts down, because the download was paused or is in a list.
  var keepsPartAfterShutdown: Bool {
    members?.areListed == true || shared.withLock { $0.wish == .pause || $0.endedSuspended }
  }

  /// Returns whether the partial file stays after the attempt has failed with `error`.
  func keepsPart(after error: TransferError) -> Bool {
    shared.withLock { state in
      switch state.wish {
      case .cancel: false
      case .pause, .suspend, .timeOut: true
      case .complete: error.errorClass != .cancelled
      }
    }
  }
}

extension Download.State {
  /// Ends a suspension. Returns whether ``Download/resume()`` was called during the suspension.
  mutating func endSuspension() -> Bool {
    wish = .complete
    defer { isResumed = false }
    return isResumed
  }

  /// Takes the download out of the line, and ends its wait for a retry.
  mutating func leaveLine() {
    stay += 1
    retry?.cancel()
    retry = nil
  }

  mutating func change(to phase: DownloadState) {
    self.phase = phase
    tell(.state(phase))
  }

  /// Ends the download with this result, unless it has already ended.
  mutating func finish(_ result: Result<DownloadedFile, TransferError>) {
    guard self.result == nil else { return }
    timer?.cancel()
    timer = nil
    if case .success(let file) = result {
      saved = nil
      refusal = nil
      last = (file.bytes, file.bytes)
    }
    if phase == .running || sentProgress != nil {
      send(DownloadProgress(bytes: last.bytes, expected: last.total))
    }
    change(to: .finished)
    tell(.finished(result))
    self.result = result
  }
}
