import Synchronization

/// Something has happened: wakes the one task that waits. Several posts before a wait are one.
final class Wake: Sendable {
  private struct State {
    var isPosted = false
    var waiter: CheckedContinuation<Void, Never>?
  }

  private let state = Mutex(State())

  func post() {
    state.withLock { state in
      state.isPosted = state.waiter == nil
      defer { state.waiter = nil }
      return state.waiter
    }?.resume()
  }

  /// Returns after a post, or after `time`; nil waits for a post alone. For one task at a time.
  func wait(upTo time: Duration?) async {
    let timer = time.map { time in
      Task {
        // Cancelled when the post came first.
        if (try? await Task.sleep(for: time)) != nil { post() }
      }
    }
    await withCheckedContinuation { continuation in
      let isPosted = state.withLock { state in
        defer { state.isPosted = false }
        if !state.isPosted { state.waiter = continuation }
        return state.isPosted
      }
      if isPosted { continuation.resume() }
    }
    timer?.cancel()
  }
}
