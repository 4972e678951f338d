import FoundationEssentials
import Log
import Terminal

/// Loggers of a program that speaks for several: each line begins with who speaks, on a terminal in a colour of its own.
/// Lines of JSON name the component anyway and stay as they are.
struct LogVoices {
  private let options: LogOptions
  private let screen: Screen

  /// Voices of a log on standard error.
  init(_ options: LogOptions) {
    self.options = options
    screen = Screen(.error, environment: ProcessInfo.processInfo.environment)
  }

  /// A logger of `component`: `db`, `coordinator` or `worker-1` and so on.
  func logger(_ component: String) -> Logger {
    if options.format == .json { return options.logger(component) }
    let padding = String(repeating: " ", count: max(0, "coordinator".count - component.count))
    return options.logger(
      component,
      to: .standardError(
        prefix: screen.paint("\(component)\(padding) |", Self.style(of: component)) + " "))
  }

  private static func style(of component: String) -> Style {
    switch component {
    case "db": .blue
    case "coordinator": .magenta
    default: .cyan
    }
  }
}
