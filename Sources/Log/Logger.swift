/// Writes structured log lines: an event, and fields that say which job, worker or host the event is about.
///
///     12:00:00.123 info  job.started  job=1 worker=2 path="a b"
///     {"time":"2026-11-21T12:00:00.123Z","level":"info","event":"job.started","component":"worker","job":1}
///
/// A logger is a value: `with` returns a logger that adds fields to each of its lines. Times come from the wall clock, in UTC. A
/// field that is given twice is written twice. A field with an empty text is not written. An error, or a warning about repeated
/// attempts, is written at most once a minute. If the same line was logged more often, the field `count` gives the number.
package struct Logger: Sendable {
  /// The format of log lines.
  package enum Format: String, CaseIterable, Sendable { case text, json }

  /// The importance of a log line. A logger writes its own level and all levels above it.
  package enum Level: String, CaseIterable, Comparable, Sendable {
    case debug, info, warning, error

    package static func < (left: Level, right: Level) -> Bool { left.rank < right.rank }

    private var rank: Int {
      switch self {
      case .debug: 0
      case .info: 1
      case .warning: 2
      case .error: 3
      }
    }
  }

  private let format: Format
  private let level: Level
  private let component: String
  private let output: LogOutput
  private let clock: @Sendable () -> WallTime
  /// Shared with the loggers that `with` creates from this one.
  private let repeated = RepeatedLines()
  /// The fields from `with`. They are formatted only when a line is written: most loggers of a job never write one.
  private var bound: [(LogField, LogValue)] = []

  /// Creates a logger for `component`. Only JSON lines show the component.
  package init(
    format: Format, level: Level, component: String, output: LogOutput = .standardError,
    clock: @escaping @Sendable () -> WallTime = WallTime.now
  ) {
    self.format = format
    self.level = level
    self.component = component
    self.output = output
    self.clock = clock
  }

  /// Returns a logger that adds `fields` to each line, before the fields of the call.
  package func with(_ fields: (LogField, LogValue)...) -> Logger {
    var logger = self
    logger.bound += fields
    return logger
  }

  /// Logs an event with details for troubleshooting.
  package func debug(_ event: LogEvent, _ fields: (LogField, LogValue)...) {
    write(.debug, event, fields)
  }

  /// Logs an event of normal operation.
  package func info(_ event: LogEvent, _ fields: (LogField, LogValue)...) {
    write(.info, event, fields)
  }

  /// Logs an event that Haul handles without help but that an operator may want to know.
  package func warning(_ event: LogEvent, _ fields: (LogField, LogValue)...) {
    write(.warning, event, fields)
  }

  /// Logs a problem that lasts until an operator acts.
  package func error(_ event: LogEvent, _ fields: (LogField, LogValue)...) {
    write(.error, event, fields)
  }

  private func write(_ level: Level, _ event: LogEvent, _ fields: [(LogField, LogValue)]) {
    guard level >= self.level else { return }
    let now = clock()
    var count: Int?
    if level == .error || event.isComplaint {
      let verdict = repeated.take("\(event.rawValue) \(bound + fields)", now: now)
      guard case .show(let times) = verdict else { return }
      count = times
    }
    var line: [UInt8] = []
    line.reserveCapacity(256)
    format.begin(&line, now, level, event, component)
    for (field, value) in bound + fields where value != .string("") {
      format.append(field, value, to: &line)
    }
    if let count { format.append(.count, LogValue(count), to: &line) }
    format.end(&line)
    output.write(event, line)
  }
}
