import Arguments
import HaulSystem
import JobModel
import Maintenance
import StatusPage

struct CoordinatorCommand: HaulCommand {
  static let name = "coordinator"
  static let role: PoolRole? = .worker
  static let abstract = "Keep house for the pool: take back work of dead workers, wake due jobs."
  static let discussion = """
    Any number may run; one leads, the others stand by. A pool without one works too, since workers \
    take its place. SIGTERM, SIGINT or SIGHUP ends it in order.

    With --listen it serves a page to watch the pool on, and metrics for Prometheus.
    """
  static let examples = [
    Example("haul coordinator", "Keeps house until it is told to stop."),
    Example(
      "haul coordinator --listen 127.0.0.1:9464",
      "The same, and http://127.0.0.1:9464/ shows the pool."),
    Example("haul coordinator --log-format json", "The same with a log for programs."),
  ]
  static let options: [Option<Self>] = group(\.listen) + group(\.database) + group(\.log)

  var listen = ListenOptions()
  var database = DatabaseOptions()
  var log = LogOptions()

  func perform() async throws {
    try await database.withConninfo { conninfo in
      let coordinator = PoolCoordinator(conninfo: conninfo, logger: log.logger("coordinator"))
      StopSignals.stopGracefully { coordinator.stop() }
      let token = try listen.token()
      let page = try listen.address.map { address throws(ListenError) in
        try StatusServer(
          on: address, token: token, conninfo: conninfo, version: Haul.version,
          leader: { LeaderFacts(isLeading: coordinator.isLeading, rounds: coordinator.rounds) },
          logger: log.logger("page"))
      }
      do {
        try await coordinator.run()
      } catch {
        await page?.stop()
        throw error
      }
      await page?.stop()
    }
  }
}
