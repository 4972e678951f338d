import HaulSystem
import Synchronization

/// From the start to the end.
extension Download {
  // MARK: - Its turn

  func ticket(_ stay: Int) -> DownloadGate.Ticket {
    DownloadGate.Ticket(download: ObjectIdentifier(self), number: stay)
  }

  /// Has it wait for its turn.
  func enter() {
    let stay = shared.withLock { state in
      state.stay += 1
      state.passed = 0
      return state.stay
    }
    if gates.isEmpty { admitted(ticket(stay)) } else { gates[0].add(self, ticket(stay)) }
  }

  /// A gate has let it in: on to the next, or it begins.
  func admitted(_ ticket: DownloadGate.Ticket) {
    let passed = shared.withLock { state -> Int? in
      guard state.phase == .waiting, state.stay == ticket.number else { return nil }
      state.passed += 1
      if state.passed >= gates.count { state.phase = .running }
      return state.passed
    }
    guard let passed else { return leave(ticket) }
    if passed < gates.count { return gates[passed].add(self, ticket) }
    startTimer()
    tell(.state(.running))
    Task { settle(await work.attempt(self), ticket) }
  }

  private func leave(_ ticket: DownloadGate.Ticket) {
    for gate in gates { gate.remove(ticket) }
  }

  // MARK: - How an attempt ends

  private enum Next {
    case finish
    case pause
    case wait
    case retry(Duration, TransferError, stay: Int)
  }

  private func settle(
    _ result: Result<DownloadedFile, TransferError>, _ ticket: DownloadGate.Ticket
  ) {
    leave(ticket)
    let (result, next) = shared.withLock { state -> (Result<DownloadedFile, TransferError>, Next) in
      state.meter.stop()
      guard case .failure(let error) = result else { return (result, .finish) }
      switch state.wish {
      case .suspend where error.errorClass == .cancelled:
        state.wish = .complete
        defer { state.isResumed = false }
        state.phase = state.isResumed ? .waiting : .paused
        return (result, state.isResumed ? .wait : .pause)
      case .timeOut where error.errorClass == .cancelled:
        return (.failure(timedOut), .finish)
      case .complete:
        guard let delay = retryDelay(after: error, &state) else { return (result, .finish) }
        state.phase = .waiting
        state.stay += 1
        state.passed = gates.count
        return (result, .retry(delay, error, stay: state.stay))
      default: return (result, .finish)
      }
    }
    switch next {
    case .finish: finish(result)
    case .pause: tell(.state(.paused))
    case .wait:
      tell(.state(.waiting))
      enter()
    case .retry(let delay, let error, let stay):
      tell(.state(.waiting))
      tell(.retrying(after: delay, error))
      Task {
        try? await Task.sleep(for: delay)
        // Whoever has ended or suspended it since has changed one of these.
        if shared.withLock({ $0.phase == .waiting && $0.stay == stay }) { enter() }
      }
    }
  }

  private func retryDelay(after error: TransferError, _ state: inout State) -> Duration? {
    guard let policy = request.options.retry, state.refusal == nil else { return nil }
    return policy.delay(
      after: error, &state.failures, now: .now, dice: Double.random(in: 0..<1))
  }

  private var timedOut: TransferError {
    let time = request.options.timeout ?? .zero
    return TransferError(.timeout, "the download is not complete after \(time)")
  }

  private func startTimer() {
    guard let timeout = request.options.timeout else { return }
    shared.withLock { state in
      guard state.timer == nil else { return }
      state.timer = Task { [weak self] in
        guard (try? await Task.sleep(for: timeout.clamped)) != nil else { return }
        self?.end(.timeOut)
      }
    }
  }

  /// The end, whatever it was.
  func finish(_ result: Result<DownloadedFile, TransferError>) {
    let waiters = shared.withLock { state -> [CheckedContinuation<Void, Never>]? in
      guard state.result == nil else { return nil }
      state.result = result
      state.phase = .finished
      state.timer?.cancel()
      state.timer = nil
      if case .success(let file) = result {
        state.saved = nil
        state.last = (file.bytes, file.bytes)
      }
      defer { state.waiters = [:] }
      return Array(state.waiters.values)
    }
    guard let waiters else { return }
    tell(.state(.finished))
    tell(.finished(result))
    let observers = shared.withLock { state in
      defer { state.observers = [:] }
      return state.observers.values
    }
    for observer in observers { observer.finish() }
    for waiter in waiters { waiter.resume() }
  }

  // MARK: - How somebody ends it

  private enum Ending {
    case nothing
    case stop
    case tellPaused
    case finish(TransferError)
    /// Its partial file is removed first.
    case discard(ResumeData, thenFinish: Bool)
  }

  /// Brings the run to the end that `wish` means. A cancellation overrules all others.
  func end(_ wish: Wish) {
    let (ending, ticket) = shared.withLock { state -> (Ending, DownloadGate.Ticket) in
      (self.ending(wish, &state), self.ticket(state.stay))
    }
    switch ending {
    case .nothing: break
    case .stop: work.stop()
    case .tellPaused:
      leave(ticket)
      tell(.state(.paused))
    case .finish(let error):
      leave(ticket)
      finish(.failure(error))
    case .discard(let data, let finishes):
      leave(ticket)
      registry?.begin()
      Task {
        await work.discard(data)
        if finishes { finish(.failure(Self.cancelled)) }
        registry?.end()
      }
    }
  }

  private static let cancelled = TransferError(.cancelled, "the download was ended")

  private func ending(_ wish: Wish, _ state: inout State) -> Ending {
    switch (state.phase, wish) {
    case (.finished, .cancel):
      guard let data = state.saved else { return .nothing }
      state.saved = nil
      return .discard(data, thenFinish: false)
    case (.finished, _), (.paused, .suspend): return .nothing
    case (.running, _):
      guard state.wish != .cancel else { return .nothing }
      state.wish = wish
      state.isResumed = false
      return .stop
    case (.waiting, .suspend):
      state.phase = .paused
      return .tellPaused
    case (_, .cancel):
      state.wish = .cancel
      guard let data = state.saved else { return .finish(Self.cancelled) }
      // What removes it is as good as a run.
      (state.phase, state.saved) = (.running, nil)
      return .discard(data, thenFinish: true)
    case (_, .timeOut): return .finish(timedOut)
    default: return .finish(Self.cancelled)
    }
  }

  /// Whether ``cancel()`` has ended it.
  var isCancelled: Bool { shared.withLock { $0.wish == .cancel } }

  /// Whether the partial file is to stay after the attempt has failed with `error`.
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
