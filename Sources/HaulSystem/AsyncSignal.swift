import Synchronization

/// A signal that wakes the one task that waits for it. Several posts before a wait count as one.
package final class AsyncSignal: Sendable {
  private struct State {
    var isPosted = false
    var waiter: CheckedContinuation<Void, Never>?
  }

  private let state = Mutex(State())

  package init() {}

  package func post() {
    state.withLock { state in
      state.isPosted = state.waiter == nil
      defer { state.waiter = nil }
      return state.waiter
    }?.resume()
  }

  /// Waits for a post, but no longer than `time`; nil waits without limit. Only one task may wait at a time.
  package func wait(upTo time: Duration?) async {
    let timer = time.map { time in
      Task {
        // The sleep is cancelled if a post came first.
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
