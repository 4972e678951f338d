import Arguments
import FoundationEssentials
import HaulSystem
import Terminal

/// The options for messages on standard error while a command waits.
struct ProgressOptions: OptionGroup {
  static let title: String? = nil
  static let options: [Option<Self>] = [
    .flag("quiet", short: "q", \.isQuiet, "Print only errors, warnings and results.")
  ]

  var isQuiet = false

  /// Returns a display on standard error for the command typed as `label`. The display is hidden while the process is
  /// suspended.
  func display(label: String) -> ProgressDisplay {
    let environment = ProcessInfo.processInfo.environment
    let screen = Screen(.error, environment: environment)
    let display = ProgressDisplay(
      mode: .init(for: screen, isQuiet: isQuiet), label: label, environment: environment)
    StopSignals.aroundSuspension({ display.hide() }, { display.unhide() })
    return display
  }
}
