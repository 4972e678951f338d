import FoundationEssentials
import HaulSystem

/// How many jobs a command has changed so far, on one line of a terminal on standard error; silent elsewhere.
package struct CountLine {
  private let participle: String
  private let isShown: Bool

  /// `participle` says what happens to the jobs: `paused`.
  package init(_ participle: String) {
    self.participle = participle
    isShown = Screen(.error, environment: ProcessInfo.processInfo.environment).height != nil
  }

  /// Replaces the number shown. That a terminal is gone stops nothing.
  package func show(_ count: Int) {
    if isShown {
      StandardStream.say("\r\(counted(count, "job")) \(participle) so far\u{1b}[K")
    }
  }

  /// Takes it away.
  package func clear() {
    if isShown { StandardStream.say("\r\u{1b}[K") }
  }
}
