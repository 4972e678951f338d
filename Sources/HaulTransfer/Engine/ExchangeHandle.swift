import Synchronization

/// Controls one exchange from any thread, before and during the exchange. Calls after the end of the exchange have no effect.
///
/// The owner's pause (``pause()``, ``unpause()``) and the sink's pause (`.pause`, ``resume()``) are separate. Bytes flow when
/// neither pause is in effect.
package final class ExchangeHandle: Sendable {
  /// The requests to the engine for this exchange.
  struct Wishes: Sendable {
    var isCancelled = false
    var isPaused = false
    /// Whether the sink has room again. The engine clears this value when it reads it.
    var hasRoom = false
  }

  private struct State {
    var wishes = Wishes()
    var notify: (@Sendable () -> Void)?
  }

  private let state = Mutex(State())

  /// Creates a handle for one call of ``Engine/perform(_:sink:handle:)``.
  package init() {}

  /// Stops reading. The connection stays open and no time-out runs.
  ///
  /// At most 16 KiB that libcurl had already read may still reach the sink.
  package func pause() { wish { $0.isPaused = true } }

  /// Ends the owner's ``pause()``.
  package func unpause() { wish { $0.isPaused = false } }

  /// Ends the sink's `.pause`.
  package func resume() { wish { $0.hasRoom = true } }

  /// Ends the exchange as `.cancelled`, at any stage.
  package func cancel() { wish { $0.isCancelled = true } }

  private func wish(_ change: (inout Wishes) -> Void) {
    let notify = state.withLock { state in
      change(&state.wishes)
      return state.notify
    }
    notify?()
  }

  /// Sets the function that is called after each wish, on the caller's thread. Only the engine calls this.
  func attach(_ notify: @escaping @Sendable () -> Void) {
    state.withLock { $0.notify = notify }
  }

  /// Removes the function that ``attach(_:)`` has set, and so releases the objects that it captured. Later wishes have no
  /// effect. Only the engine calls this.
  func detach() {
    state.withLock { $0.notify = nil }
  }

  /// Returns the current wishes and clears `hasRoom`. Only the engine calls this.
  func takeWishes() -> Wishes {
    state.withLock { state in
      defer { state.wishes.hasRoom = false }
      return state.wishes
    }
  }
}
