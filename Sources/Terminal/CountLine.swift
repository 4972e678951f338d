import FoundationEssentials
import HaulSystem

/// Shows the number of jobs that a command has changed so far, on one line of a terminal on standard error. Shows nothing if
/// standard error is not a terminal.
package struct CountLine {
  private let participle: String
  private let isShown: Bool

  /// Creates the line. `participle` says what happens to the jobs: `paused`.
  package init(_ participle: String) {
    self.participle = participle
    isShown = Screen(.error, environment: ProcessInfo.processInfo.environment).height != nil
  }

  /// Replaces the number shown. A terminal that is gone is not an error.
  package func show(_ count: Int) {
    if isShown {
      StandardStream.say("\r\(counted(count, "job")) \(participle) so far\u{1b}[K")
    }
  }

  /// Removes the line.
  package func clear() {
    if isShown { StandardStream.say("\r\u{1b}[K") }
  }
}
