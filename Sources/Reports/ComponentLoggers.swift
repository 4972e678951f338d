import FoundationEssentials
import HaulSystem
package import Log
import Synchronization
import Terminal

/// The loggers of a program with several components. Each line of text begins with the component's name, which has its own
/// colour on a terminal. JSON lines stay unchanged, because they have a field for the component.
///
/// Except at the level debug, the log stays readable while thousands of jobs run: see ``JobLines``.
package final class ComponentLoggers: Sendable {
  /// The time between two reports of how many lines were not shown.
  private static let round = Duration.seconds(5)

  private let format: Logger.Format
  private let level: Logger.Level
  private let screen: Screen
  private let lines = Mutex(JobLines())

  /// Creates the loggers. They write to standard error.
  package init(format: Logger.Format, level: Logger.Level) {
    self.format = format
    self.level = level
    screen = Screen(.error, environment: ProcessInfo.processInfo.environment)
  }

  /// Returns the logger of `component`, such as `db`, `coordinator` or `worker-1`.
  package func logger(_ component: String) -> Logger {
    if format == .json { return logger(component, to: .standardError) }
    let output = LogOutput.standardError(prefix: prefix(component))
    if level == .debug { return logger(component, to: output) }
    return logger(
      component, to: output.filtered { [self] event in lines.withLock { $0.take(event) } })
  }

  private func logger(_ component: String, to output: LogOutput) -> Logger {
    Logger(format: format, level: level, component: component, output: output)
  }

  /// Runs `body`. Reports every 5 seconds and at the end how many lines were not shown.
  package func counting(while body: () async throws -> Void) async throws {
    let task = Task { await count() }
    let result: Result<Void, any Error>
    do { result = .success(try await body()) } catch { result = .failure(error) }
    task.cancel()
    await task.value
    try result.get()
  }

  private func count() async {
    repeat {
      try? await Task.sleep(for: Self.round)
      guard let left = lines.withLock({ $0.endRound() }) else { continue }
      // A report that cannot be written is lost, like any other line of the log.
      StandardStream.say(
        "\(prefix("pool"))lines not shown in 5 s: \(left). Use --log-level debug to see each line\n"
      )
    } while !Task.isCancelled
  }

  private func prefix(_ component: String) -> String {
    let padding = String(repeating: " ", count: max(0, "coordinator".count - component.count))
    return screen.paint("\(component)\(padding) |", Self.style(of: component)) + " "
  }

  private static func style(of component: String) -> Style {
    switch component {
    case "db": .blue
    case "coordinator", "pool": .magenta
    default: .cyan
    }
  }
}
