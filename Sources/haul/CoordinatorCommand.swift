import Arguments
import Coordinator

struct CoordinatorCommand: HaulCommand {
  static let name = "coordinator"
  static let abstract = "Keep house for the pool: take back work of dead workers, wake due jobs."
  static let discussion = """
    Any number may run; one leads, the others stand by. A pool without one works too, since workers \
    take its place. SIGTERM or SIGINT ends it in order.
    """
  static let examples = [
    Example("haul coordinator", "Keeps house until it is told to stop."),
    Example("haul coordinator --log-format json", "The same with a log for programs."),
  ]
  static let options: [Option<Self>] = group(\.database) + group(\.log)

  var database = DatabaseOptions()
  var log = LogOptions()

  func perform() async throws {
    try await database.withConninfo { conninfo in
      let coordinator = PoolCoordinator(conninfo: conninfo, logger: log.logger("coordinator"))
      StopSignals.handle { coordinator.stop() }
      try await coordinator.run()
    }
  }
}
