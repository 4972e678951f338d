/// Writes structured lines: an event, and fields that say which job, worker or host it is about.
///
///     12:00:00.123 info  job.started  job=1 worker=2 path="a b"
///     {"time":"2026-11-21T12:00:00.123Z","level":"info","event":"job.started","component":"worker","job":1}
///
/// A value type: `with` gives a logger that adds fields to each of its lines. Times are the wall
/// clock's, in UTC. A field given twice is written twice, one with an empty text not at all. Errors, and complaints of
/// what is tried again and again, are written once a minute, with `count` where they came more often.
package struct Logger: Sendable {
  /// How a line looks.
  package enum Format: String, CaseIterable, Sendable { case text, json }

  /// How much a line matters; a logger writes its own level and all above.
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
  /// Shared with the loggers that `with` makes of this one.
  private let repeated = RepeatedLines()
  /// The fields of `with`; most loggers of a job never write a line.
  private var bound: [(LogField, LogValue)] = []

  /// A logger of `component`, which only JSON lines show.
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

  /// A logger whose lines carry `fields` too, before those of the call.
  package func with(_ fields: (LogField, LogValue)...) -> Logger {
    var logger = self
    logger.bound += fields
    return logger
  }

  /// Logs details for troubleshooting.
  package func debug(_ event: LogEvent, _ fields: (LogField, LogValue)...) {
    write(.debug, event, fields)
  }

  /// Logs normal operation.
  package func info(_ event: LogEvent, _ fields: (LogField, LogValue)...) {
    write(.info, event, fields)
  }

  /// Logs something that Haul handles by itself but an operator may want to know.
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
