import FoundationEssentials
import Glibc
import HaulCLinux

/// Tells the service manager, such as systemd, that this process is ready, alive or stopping. (sd_notify(3))
///
/// If no service manager asks for these messages, the functions have no effect.
package struct ServiceManager: Sendable {
  /// The name of the manager's socket; nil if the manager asks for no messages.
  private let socket: String?
  /// The time between two signs of life; nil if the manager expects none.
  private let interval: Duration?

  /// Creates the manager that `environment` names in `NOTIFY_SOCKET`. `WATCHDOG_USEC` is the time in microseconds after which
  /// the manager kills a silent process. It counts for this process only if `WATCHDOG_PID` is `process` or missing.
  /// (sd_watchdog_enabled(3))
  package init(environment: [String: String], process: Int32) {
    socket = environment["NOTIFY_SOCKET"]
    let isMeant = environment["WATCHDOG_PID"].map { $0 == "\(process)" } ?? true
    let limit = environment["WATCHDOG_USEC"].flatMap { Int64($0) } ?? 0
    // Half of the limit, as sd_watchdog_enabled(3) recommends.
    interval = isMeant && limit > 1 ? .microseconds(limit / 2) : nil
  }

  /// Returns the manager of this process.
  package static func ofThisProcess() -> ServiceManager {
    ServiceManager(environment: ProcessInfo.processInfo.environment, process: getpid())
  }

  /// Tells the service manager that the service has started.
  package func ready() { send("READY=1") }

  /// Tells the service manager that the service is stopping.
  package func stopping() { send("STOPPING=1") }

  /// Runs `body`, and sends signs of life until it returns. They come from Swift's threads: if code blocks all of these
  /// threads, the signs stop, and the manager restarts the service.
  package func watching<Result>(_ body: () async throws -> Result) async rethrows -> Result {
    let signs = Task { await keepAlive() }
    defer { signs.cancel() }
    return try await body()
  }

  private func keepAlive() async {
    guard let interval else { return }
    while !Task.isCancelled {
      send("WATCHDOG=1")
      try? await Task.sleep(for: interval)
    }
  }

  /// Sends a message. A lost message is not an error: the manager itself reports a service that does not become ready or
  /// shows no sign of life.
  private func send(_ message: String) {
    guard let socket else { return }
    _ = unsafe haul_notify(socket, message)
  }
}
