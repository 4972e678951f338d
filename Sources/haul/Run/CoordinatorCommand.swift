import Arguments
import HaulSystem
import JobModel
import Maintenance
import StatusPage

struct CoordinatorCommand: HaulCommand {
  static let name = "coordinator"
  static let role: PoolRole? = .worker
  // The reason is the same as for ``WorkerCommand/codeOfOtherVersion``.
  static let codeOfOtherVersion = ExitCode.tryAgain
  static let abstract =
    "Run pool maintenance in place of a worker: reclaim work from dead workers and start scheduled jobs."
  static let discussion = """
    A pool needs no coordinator: without one, one of the workers does this work. You can run any number of \
    coordinators. One does the work, and the others wait to take over. A coordinator downloads nothing.

    Every second it looks for dead workers. If the process of a worker has died, other workers get its jobs 3 \
    to 5 seconds after the last heartbeat. If the process hangs without heartbeats, or its machine dies or \
    loses its network, this takes 10 to 15 seconds.

    SIGTERM, SIGINT or SIGHUP stops a coordinator gracefully, and it exits with 0. A second signal stops it \
    immediately, with exit code 75.

    With --listen the coordinator serves a web page that shows the pool, and metrics for Prometheus.
    """
  static let examples = [
    Example("haul coordinator", "Runs pool maintenance until you stop it."),
    Example(
      "haul coordinator --listen 127.0.0.1:9464",
      "Also shows the pool at http://127.0.0.1:9464/."),
    Example("haul coordinator --log-format json", "Writes the log of the coordinator as JSON."),
  ]
  static let options: [Option<Self>] = group(\.listen) + group(\.database) + group(\.log)

  var listen = ListenOptions()
  var database = DatabaseOptions()
  var log = LogOptions()

  func perform() async throws {
    try await database.withConninfo { conninfo in
      let coordinator = PoolCoordinator(
        conninfo: conninfo, schema: database.schema, logger: log.logger("coordinator"))
      let manager = ServiceManager.ofThisProcess()
      StopSignals.stopGracefully {
        manager.stopping()
        coordinator.stop()
      }
      let token = try listen.token()
      let page = try listen.address.map { address throws(ListenError) in
        try StatusServer(
          on: address, token: token, conninfo: conninfo, schema: database.schema,
          version: Haul.version,
          leader: { LeaderFacts(isLeading: coordinator.isLeading, rounds: coordinator.rounds) },
          logger: log.logger("page"))
      }
      do {
        try await manager.watching {
          try await coordinator.run(onStarted: { manager.ready() })
        }
      } catch {
        await page?.stop()
        throw error
      }
      await page?.stop()
    }
  }
}
