import HaulSystem
import Synchronization

/// Writes lines to standard output in their order, on a separate thread, so that a slow reader does not delay the caller. After
/// a line that cannot be written, it writes no more lines.
final class LineWriter: Sendable {
  private struct State {
    var failure: SystemError?
    var onFailure: (@Sendable () -> Void)?
  }

  private let io: SerialIO
  private let state = Mutex(State())

  init() throws(SystemError) { io = SerialIO(try IOPool(threads: 1)) }

  /// Calls `body` when a line cannot be written. If that has already happened, it calls `body` immediately.
  func onFailure(_ body: @escaping @Sendable () -> Void) {
    let hasFailed = state.withLock { state in
      state.onFailure = body
      return state.failure != nil
    }
    if hasFailed { body() }
  }

  /// Writes `text` after all earlier lines. Returns immediately.
  func write(_ text: String) {
    io.submit { [self] in
      if state.withLock({ $0.failure != nil }) { return }
      do throws(SystemError) {
        try StandardStream.output.write(text)
      } catch {
        state.withLock { state in
          state.failure = error
          return state.onFailure
        }?()
      }
    }
  }

  /// Returns when everything is written.
  ///
  /// - Throws: the reason why a line could not be written.
  func finish() async throws(SystemError) {
    await io.run {}
    if let failure = state.withLock(\.failure) { throw failure }
  }
}
