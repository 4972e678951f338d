package import Arguments
import Synchronization
package import Terminal

/// Lines that are wrong: all are counted, the first are kept to be shown.
package final class LineProblems: Sendable {
  /// A line and what is wrong with it, as it is shown.
  package typealias Problem = (line: Int, sentence: String)

  /// The number of problems that are shown.
  private static let shown = 20

  private struct State {
    var count = 0
    /// In the order of the lines.
    var first: [Problem] = []
  }

  private let state = Mutex(State())

  package init() {}

  package var count: Int { state.withLock { $0.count } }

  /// `sentence` says which line is wrong and why. In the order of the lines.
  package func add(_ line: Int, _ sentence: String) {
    state.withLock { state in
      state.count += 1
      if state.count <= Self.shown { state.first.append((line, sentence)) }
    }
  }

  /// Adds `count` others, of which these are the first.
  package func add(_ others: [Problem], of count: Int) {
    state.withLock { state in
      state.count += count
      state.first = Array(
        (state.first + others).sorted { $0.line < $1.line }.prefix(Self.shown))
    }
  }

  /// Shows the first, a line each, and how many there are besides.
  package func list(on display: ProgressDisplay) {
    let state = state.withLock { $0 }
    for problem in state.first { display.say(problem.sentence, as: .error) }
    let rest = state.count - state.first.count
    if rest > 0 { display.say("… and \(counted(rest, "line")) more", as: .error) }
  }

  /// Shows them, and says for the command `label` how many were left out, where some were.
  package func listLeftOut(on display: ProgressDisplay, label: String) {
    guard count > 0 else { return }
    list(on: display)
    display.say("\(label): \(counted(count, "line")) left out", as: .error)
  }

  /// What ends a command that needs every line: of a single wrong one all there is to say, several are listed first. nil
  /// where none is wrong. `nothing` says what has not happened.
  package func error(listedOn display: ProgressDisplay, nothing: String) -> ExitError? {
    let state = state.withLock { $0 }
    if state.count <= 1 {
      return state.first.first.map { ExitError(.badInput, "\($0.sentence) \(nothing)") }
    }
    list(on: display)
    return ExitError(.badInput, "\(counted(state.count, "line")) are wrong. \(nothing)")
  }
}
