import HaulSystem
package import Terminal

/// One line of `haul check`.
package struct CheckFinding: Sendable, Equatable {
  /// Only `fail` makes the check fail.
  package enum Verdict: String, Sendable { case ok, warn, fail }

  package var verdict: Verdict
  /// What was looked at, in a word or two.
  package var what: String
  /// What was found.
  package var detail: String
  /// What to do; nil for what is right.
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

  /// For programs.
  package var members: [JSONValue.Member] {
    [
      .init("verdict", .string(verdict.rawValue)), .init("what", .string(what)),
      .init("detail", .string(detail)), .init("advice", .text(advice)),
    ]
  }

  /// For people: `warn  clock         this machine is 3s behind …`, and below it what to do.
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
