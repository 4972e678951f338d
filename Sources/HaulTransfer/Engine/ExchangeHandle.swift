import Synchronization

/// Controls one exchange from any thread, before and while it runs. Later calls change nothing.
///
/// Two brakes are kept apart: the owner's (``pause()``, ``unpause()``) and the sink's (`.pause`,
/// ``resume()``). Bytes flow when both are off.
package final class ExchangeHandle: Sendable {
  /// What was asked for since the engine looked last.
  struct Wishes: Sendable {
    var isCancelled = false
    var isPaused = false
    /// The sink has room again; taken by the engine.
    var hasRoom = false
  }

  private struct State {
    var wishes = Wishes()
    var notify: (@Sendable () -> Void)?
  }

  private let state = Mutex(State())

  /// A handle for one call of ``Engine/perform(_:sink:handle:)``.
  package init() {}

  /// Stops reading; the connection stays open and no time-out runs.
  ///
  /// At most 16 KiB that libcurl had already read may still reach the sink.
  package func pause() { wish { $0.isPaused = true } }

  /// Takes back ``pause()``.
  package func unpause() { wish { $0.isPaused = false } }

  /// Takes back a sink's `.pause`.
  package func resume() { wish { $0.hasRoom = true } }

  /// Ends the exchange as `.cancelled`, wherever it is.
  package func cancel() { wish { $0.isCancelled = true } }

  private func wish(_ change: (inout Wishes) -> Void) {
    let notify = state.withLock { state in
      change(&state.wishes)
      return state.notify
    }
    notify?()
  }

  /// The engine's: from now on `notify` is called after each wish, on the wisher's thread.
  func attach(_ notify: @escaping @Sendable () -> Void) {
    state.withLock { $0.notify = notify }
  }

  /// Called by the engine: later wishes have no effect, and the handle keeps nothing alive for them.
  func detach() {
    state.withLock { $0.notify = nil }
  }

  /// The engine's: what is wished for now. `hasRoom` is given out once.
  func takeWishes() -> Wishes {
    state.withLock { state in
      defer { state.wishes.hasRoom = false }
      return state.wishes
    }
  }
}
