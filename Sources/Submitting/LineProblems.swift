package import Arguments
import Synchronization
package import Terminal

/// Lines that are wrong: all are counted, the first of each kind are kept to be shown.
package final class LineProblems: Sendable {
  /// A line and what is wrong with it.
  package struct Problem: Sendable {
    let line: Int
    /// Names the line, to lead the sentence; empty where nothing needs to be named.
    let place: String
    /// A sentence.
    let reason: String
    /// The number of other lines that the same is wrong with.
    var others = 0

    package init(_ line: Int, at place: String, _ reason: String, others: Int = 0) {
      self.line = line
      self.place = place
      self.reason = reason
      self.others = others
    }

    var text: String {
      switch others {
      case 0: place + reason
      case 1: "\(place)\(reason) 1 more line has the same problem."
      default: "\(place)\(reason) \(others) more lines have the same problem."
      }
    }
  }

  /// The number of problems that are shown.
  private static let shown = 20

  private struct State {
    var count = 0
    /// In the order of the lines; none has the reason of another.
    var first: [Problem] = []
  }

  private let state = Mutex(State())

  package init() {}

  /// The number of lines that are wrong.
  package var count: Int { state.withLock { $0.count } }

  /// Adds a problem.
  package func add(_ problem: Problem) {
    state.withLock { state in
      state.count += 1 + problem.others
      if let like = state.first.firstIndex(where: { $0.reason == problem.reason }) {
        state.first[like].others += 1 + problem.others
      } else if state.first.count < Self.shown {
        state.first.append(problem)
      }
    }
  }

  /// Adds `count` other problems; these are the first of them.
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
    for problem in state.first.sorted(by: { $0.line < $1.line }) {
      display.say(problem.text, as: .error)
    }
    let rest = state.count - state.first.reduce(0) { $0 + 1 + $1.others }
    if rest > 0 { display.say("… and \(counted(rest, "line")) more", as: .error) }
  }

  /// Shows them, and says for the command `label` how many were left out, where some were.
  package func listLeftOut(on display: ProgressDisplay, label: String) {
    guard count > 0 else { return }
    list(on: display)
    display.say("\(label): skipped \(counted(count, "line"))", as: .error)
  }

  /// What ends a command that needs every line: of a single problem all there is to say, several are listed first. nil
  /// where nothing is wrong. `nothing` says what has not happened; `isList`: the text names --skip-bad.
  package func error(
    listedOn display: ProgressDisplay, nothing: String, isList: Bool = true
  ) -> ExitError? {
    let state = state.withLock { $0 }
    if state.first.count <= 1 {
      return state.first.first.map { ExitError(.badInput, "\($0.text) \(nothing)") }
    }
    list(on: display)
    return ExitError(
      .badInput,
      "\(counted(state.count, "line")) are wrong. \(nothing)\(isList ? " Use --skip-bad to skip them." : "")"
    )
  }
}
