import Arguments
import Log

extension Logger.Format: OptionValue {}
extension Logger.Level: OptionValue {}

/// How lines of the log on standard error look.
struct LogOptions: OptionGroup {
  static let title: String? = "LOG OPTIONS"
  static let options: [Option<Self>] = [
    .value(
      "log-format", "<format>", \.format, environment: "HAUL_LOG_FORMAT", "How a line looks."),
    .value(
      "log-level", "<level>", \.level, environment: "HAUL_LOG_LEVEL",
      "What matters at least so much is logged."),
  ]

  var format = Logger.Format.text
  var level: Logger.Level

  /// Options whose lines start at `level` unless the user says otherwise.
  init(level: Logger.Level = .info) { self.level = level }

  /// A logger of `component` to standard error.
  func logger(_ component: String) -> Logger {
    Logger(format: format, level: level, component: component)
  }
}
