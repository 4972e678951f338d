import Arguments
import EmbeddedPostgres
import FoundationEssentials
import HaulSystem
import HaulTransfer
import JobModel
import LocalPool
import Log
import Reports
import Synchronization
import Terminal
import Worker

struct UpCommand: HaulCommand {
  static let name = "up"
  static let abstract = "Run a whole pool in this terminal: database, coordinator and workers."
  static let discussion = """
    Nothing has to be set up: the database is Haul's own, and other commands on this machine find it \
    by themselves while it runs. What is submitted stays in it until the next time: in \
    ~/.local/state/haul, root's in /var/lib/haul, or where HAUL_STATE_DIR says. Its store, where files land, is called main, \
    with a queue of that name and the queue default, which takes what is submitted without --queue.

    SIGTERM, SIGINT or SIGHUP stops all of it in order; what was running goes on the next time. A second \
    signal ends it at once.

    Workers run in this one process; when 'haul drain' has ended the last of them, the pool ends. One that can be stopped or killed by itself is a 'haul worker' \
    in another terminal, and may come and go as it likes.
    """
  static let examples = [
    Example("haul up", "Then, in another terminal: haul submit https://example.org/a.iso"),
    Example(
      "haul up --workers 0 --store /srv/films",
      "No workers yet: haul worker --store main=/srv/films adds them."),
  ]
  static let options: [Option<Self>] =
    [
      .value("workers", "<n>", \.workers, in: 0...64, "Workers in this process."),
      .value(
        "store", "<dir>", \.directory,
        "Where files land, under host/path/name; made if it is missing. Where they landed before, or ./downloads, unless it is given."
      ),
      .value(
        "concurrency", short: "j", or: "c", "<n>", \.concurrency, in: 1...1024,
        environment: "HAUL_CONCURRENCY", "Jobs at once of each worker."),
      .value(
        "limit-rate", "<size>", \.limitRate, environment: "HAUL_LIMIT_RATE",
        "At most so many bytes a second, all workers together."),
      .values(
        "allow-net", "<cidr>", \.networks, environment: "HAUL_ALLOW_NET",
        "Also connect to these addresses, such as 10.0.0.0/8; may be repeated."),
    ] + group(\.credentials) + group(\.requests) + group(\.log)

  var workers = 1
  var directory: String?
  var concurrency = 16
  var limitRate: RateArgument?
  var networks: [CIDR] = []
  var credentials = CredentialOptions()
  var requests = RequestOptions()
  var log = LogOptions()

  func perform() async throws {
    let location = try ClusterLocation.standard(environment: ProcessInfo.processInfo.environment)
    var order = UpConfiguration(
      directory: directory, workers: workers, concurrency: concurrency, allowedNetworks: networks,
      rateLimit: limitRate?.limit, version: Haul.version)
    order.requests = try requests.settings(credentials)
    let voices = ComponentLoggers(format: log.format, level: log.level)
    let database = voices.logger("db")
    let failures = Mutex(FailureTally())
    let isChosen = directory != nil
    let run = UpRun(order, at: location, logger: { voices.logger($0) }) { event in
      switch event {
      case .database(let step): database.info(.databaseStarting, (.state, LogValue("\(step)")))
      case .ready(let conninfo, let directory, let perHost):
        database.info(.databaseStarted, (.path, LogValue(location.directory)))
        let place =
          "\(SafeText.visible(directory))\(isChosen || Self.isHere(directory) ? "" : ", as before; --store names another directory")"
        Self.greet(conninfo, place, perHost: perHost, rules)
      case .interruptedElsewhere(let jobs, let directory):
        let path = SafeText.visible(directory)
        StandardStream.say(
          "haul up: \(counted(jobs, "file")) interrupted in \(path): what is there goes on with --store "
            + "\(shellWord(path)), or with 'haul worker --store \(UpRun.store)=\(path)' besides; here it begins anew "
            + "after five minutes.\n")
      case .settled(let lease) where lease.state == .failed:
        failures.withLock { $0.add(lease.cause?.rawValue ?? lease.state.rawValue) }
      case .settled: break
      case .drained:
        StandardStream.say("haul up: all of its workers were drained; the pool ends.\n")
      case .closed: database.info(.databaseStopped)
      }
    }
    StopSignals.stopGracefully({ run.stop() }, abandon: { run.abandon() })
    StopSignals.aroundSuspension({ run.suspend() })
    try await voices.counting { try await run.run() }
    Self.conclude(failures.withLock { $0 })
  }

  private static func conclude(_ failures: FailureTally) {
    if failures.count == 0 { return }
    StandardStream.say(
      "haul up: \(counted(failures.count, "failure")) (\(failures.list)). While 'haul up' runs, 'haul failures' says why, and 'haul retry --state failed' "
        + "tries them again.\n")
  }

  /// Whether files land where they would the first time.
  private static func isHere(_ directory: String) -> Bool {
    directory == FileManager.default.currentDirectoryPath + "/downloads"
  }

  /// What may be connected to, after the number of connections per host.
  private var rules: String {
    let allowed = networks.map(\.description).joined(separator: ", ")
    return networks.isEmpty
      ? "private networks are refused (--allow-net CIDR allows some)"
      : "only these private networks are allowed: \(allowed)"
  }

  private static func greet(
    _ conninfo: String, _ place: String, perHost: Int, _ rules: String
  ) {
    let set = DatabaseOptions.variables
    let without = set.isEmpty ? "" : "env \(set.map { "-u \($0)" }.joined(separator: " ")) "
    let note =
      set.isEmpty
      ? ""
      : "\n\n'haul up' ignores \(set.joined(separator: ", ")). Other commands use \(set.count == 1 ? "it" : "them") and go to another database.\n"
        + "For this pool, run them as below."
    StandardStream.say(
      """

      Files land in \(place).
      At most \(counted(perHost, "file")) at once from one host ('haul host set' changes it); \(rules).\(note)
      In another terminal:
        \(without)haul submit URL…    adds to the queue; haul jobs lists it
        psql "\(conninfo)"
      Ctrl-C saves what runs and stops.


      """)
  }
}
