import HaulSystem
import Synchronization

/// Writes lines to standard output in their order on a thread of its own, so that a slow reader does not hold up the
/// caller. After a line that cannot be written, it writes no other.
final class LineWriter: Sendable {
  private struct State {
    var failure: SystemError?
    var onFailure: (@Sendable () -> Void)?
  }

  private let io: SerialIO
  private let state = Mutex(State())

  init() throws(SystemError) { io = SerialIO(try IOPool(threads: 1)) }

  /// `body` is called when a line cannot be written, at once where that has happened.
  func onFailure(_ body: @escaping @Sendable () -> Void) {
    let hasFailed = state.withLock { state in
      state.onFailure = body
      return state.failure != nil
    }
    if hasFailed { body() }
  }

  /// Writes `text` after everything before. Returns at once.
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

  /// Returns when all is written.
  ///
  /// - Throws: why a line could not be written.
  func finish() async throws(SystemError) {
    await io.run {}
    if let failure = state.withLock(\.failure) { throw failure }
  }
}
