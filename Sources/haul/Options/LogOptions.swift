import Arguments
import Log

extension Logger.Format: OptionValue {}
extension Logger.Level: OptionValue {}

/// The format and level of the log on standard error.
struct LogOptions: OptionGroup {
  static let title: String? = "LOG OPTIONS"
  static let options: [Option<Self>] = [
    .value(
      "log-format", "<format>", \.format, environment: "HAUL_LOG_FORMAT",
      "The format of a log line."),
    .value(
      "log-level", "<level>", \.level, environment: "HAUL_LOG_LEVEL",
      "Log messages of this level and of more important levels."),
  ]

  var format = Logger.Format.text
  var level: Logger.Level

  /// Creates options with the default level `level`.
  init(level: Logger.Level = .info) { self.level = level }

  /// Returns a logger for `component`.
  func logger(_ component: String, to output: LogOutput = .standardError) -> Logger {
    Logger(format: format, level: level, component: component, output: output)
  }
}
