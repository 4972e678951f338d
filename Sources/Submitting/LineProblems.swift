package import Arguments
import Synchronization
package import Terminal

/// Collects problems of lines in a list. It counts all problems, and keeps the first line of each of the first 20 kinds of
/// problem.
package final class LineProblems: Sendable {
  /// A line of a list and its problem.
  package struct Problem: Sendable {
    let line: Int
    /// The name of the line, which begins the sentence. Empty if the line needs no name.
    let place: String
    /// The problem as a sentence.
    let reason: String
    /// The number of other lines with the same problem.
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

  /// The maximum number of problems to show.
  private static let shown = 20

  private struct State {
    var count = 0
    /// The problems to show, in the order of the lines. Each has a different reason.
    var first: [Problem] = []
  }

  private let state = Mutex(State())

  package init() {}

  /// The number of lines with a problem.
  package var count: Int { state.withLock { $0.count } }

  /// Adds the problem of a line.
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

  /// Adds `count` further problems. `others` are the first of them.
  package func add(_ others: [Problem], of count: Int) {
    state.withLock { state in
      state.count += count
      state.first = Array(
        (state.first + others).sorted { $0.line < $1.line }.prefix(Self.shown))
    }
  }

  /// Shows the first problems, one per line, and the number of further lines with problems.
  package func list(on display: ProgressDisplay) {
    let state = state.withLock { $0 }
    for problem in state.first.sorted(by: { $0.line < $1.line }) {
      display.say(problem.text, as: .error)
    }
    let rest = state.count - state.first.reduce(0) { $0 + 1 + $1.others }
    if rest > 0 { display.say("… and \(rest) more \(rest == 1 ? "line" : "lines")", as: .error) }
  }

  /// Shows the problems, and the number of lines that the command `label` skipped because of the problems. Shows nothing if
  /// there are no problems.
  package func listLeftOut(on display: ProgressDisplay, label: String) {
    guard count > 0 else { return }
    list(on: display)
    display.say("\(label): skipped \(counted(count, "line"))", as: .error)
  }

  /// Returns the error for a command that requires every line to be valid; nil if all lines are valid.
  ///
  /// If there is one problem, the error describes it. If there are several, the function first lists them on `display`.
  /// `nothing` is a sentence about what the command did not do. If `isList` is true, the error suggests the option --skip-bad.
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
