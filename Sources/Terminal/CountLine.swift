import FoundationEssentials
import HaulSystem

/// Shows how many jobs a command has changed so far, on one line of a terminal on standard error. Shows nothing if standard
/// error is not a terminal.
package struct CountLine {
  private let participle: String
  private let isShown: Bool

  /// Creates the line. `participle` says what happened to the jobs, such as `paused`.
  package init(_ participle: String) {
    self.participle = participle
    isShown = Screen(.error, environment: ProcessInfo.processInfo.environment).height != nil
  }

  /// Shows a new number. A closed terminal is not an error.
  package func show(_ count: Int) {
    if isShown {
      StandardStream.say("\r\(counted(count, "job")) \(participle) so far\u{1b}[K")
    }
  }

  /// Removes the line from the terminal.
  package func clear() {
    if isShown { StandardStream.say("\r\u{1b}[K") }
  }
}
