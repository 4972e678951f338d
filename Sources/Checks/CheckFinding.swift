import HaulSystem
package import Terminal

/// One line of the output of `haul check`.
package struct CheckFinding: Sendable, Equatable {
  /// The result of a check. `haul check` fails only if a result is `fail`.
  package enum Verdict: String, Sendable { case ok, warn, fail }

  package var verdict: Verdict
  /// What was checked, in one or two words, such as `clock`.
  package var what: String
  /// The facts that the check found.
  package var detail: String
  /// Advice for the user; nil if nothing is wrong.
  package var advice: String?

  package static func ok(_ what: String, _ detail: String) -> CheckFinding {
    CheckFinding(verdict: .ok, what: what, detail: detail)
  }

  package static func warn(_ what: String, _ detail: String, _ advice: String) -> CheckFinding {
    CheckFinding(verdict: .warn, what: what, detail: detail, advice: advice)
  }

  package static func fail(_ what: String, _ detail: String, _ advice: String) -> CheckFinding {
    CheckFinding(verdict: .fail, what: what, detail: detail, advice: advice)
  }

  /// The finding as members of a JSON object.
  package var members: [JSONValue.Member] {
    [
      .init("verdict", .string(verdict.rawValue)), .init("what", .string(what)),
      .init("detail", .string(detail)), .init("advice", .text(advice)),
    ]
  }

  /// Returns the finding as a line for people, such as `warn  clock         this machine is 3s behind …`, with the advice on
  /// the next line.
  package func text(on screen: Screen) -> String {
    let style: Style =
      switch verdict {
      case .ok: .green
      case .warn: .yellow
      case .fail: .red
      }
    let line = [
      screen.paint(Self.padded(verdict.rawValue, 4), style),
      Self.padded(SafeText.visible(what), 12), SafeText.visible(detail),
    ]
    let below = advice.map { screen.indented(SafeText.visible($0)) } ?? ""
    return line.joined(separator: "  ") + "\n" + below
  }

  private static func padded(_ text: String, _ width: Int) -> String {
    text + String(repeating: " ", count: max(width - DisplayWidth.of(text), 0))
  }
}
