import Arguments
import Synchronization
import Terminal

/// Lines that are wrong: all are counted, the first are kept to be shown.
final class LineProblems: Sendable {
  /// So many are shown.
  private static let shown = 20

  private struct State {
    var count = 0
    var first: [String] = []
  }

  private let state = Mutex(State())

  var count: Int { state.withLock { $0.count } }

  /// `sentence` says which line is wrong and why.
  func add(_ sentence: String) {
    state.withLock { state in
      state.count += 1
      if state.count <= Self.shown { state.first.append(sentence) }
    }
  }

  /// Shows the first, a line each, and how many there are besides.
  func list(on display: ProgressDisplay) {
    let state = state.withLock { $0 }
    for line in state.first { display.say(line, as: .error) }
    let rest = state.count - state.first.count
    if rest > 0 { display.say("… and \(counted(rest, "line")) more", as: .error) }
  }

  /// What ends a command that needs every line: of a single wrong one all there is to say, several are listed first. nil
  /// where none is wrong. `nothing` says what has not happened.
  func error(listedOn display: ProgressDisplay, nothing: String) -> ExitError? {
    let state = state.withLock { $0 }
    if state.count <= 1 {
      return state.first.first.map { ExitError(.badInput, "\($0) \(nothing)") }
    }
    list(on: display)
    return ExitError(.badInput, "\(counted(state.count, "line")) are wrong. \(nothing)")
  }
}
