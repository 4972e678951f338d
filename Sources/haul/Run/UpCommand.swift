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
    You do not have to set anything up. 'haul up' has its own database, and other commands on this machine \
    find it while 'haul up' runs. Jobs stay in the database until the next run. The database is in \
    ~/.local/state/haul (for root: /var/lib/haul) or in HAUL_STATE_DIR. The store for the files has the name \
    main. It has two queues: main, and default for jobs that you submit without --queue. Only this machine can \
    reach the database. For a pool on several machines, see 'haul --help'.

    SIGTERM, SIGINT or SIGHUP stops the pool gracefully, and the command exits with 0. The next run continues \
    interrupted downloads. A second signal stops the pool immediately, with exit code 75.

    All workers run in this process. The pool stops when 'haul drain' has stopped the last of these workers. \
    For a worker that you can stop on its own, run 'haul worker' in another terminal. You can start and stop \
    such workers at any time.
    """
  static let examples = [
    Example(
      "haul up", "Runs a pool. In another terminal, run: haul submit https://example.org/a.iso"),
    Example(
      "haul up --workers 0 --store /srv/films",
      "Starts without workers. Add workers with: haul worker --store main=/srv/films"),
  ]
  static let options: [Option<Self>] =
    [
      .value("workers", "<n>", \.workers, in: 0...64, "The number of workers in this process."),
      .value(
        "store", "<dir>", \.directory,
        "The directory for the files. Haul writes them under host/path/name, and creates the directory if it is missing. Default: the directory of the last run, or ./downloads."
      ),
      .value(
        "concurrency", short: "j", or: "c", "<n>", \.concurrency, in: 1...1024,
        environment: "HAUL_CONCURRENCY",
        "How many jobs each worker runs at the same time. All workers together run at most 4 transfers from one host, unless 'haul host set' changes this limit."
      ),
      .value(
        "limit-rate", "<size>", \.limitRate, environment: "HAUL_LIMIT_RATE",
        "Limit all workers together to this many bytes per second."),
      .values(
        "allow-net", "<cidr>", \.networks, environment: "HAUL_ALLOW_NET",
        "Allow connections to these private addresses, such as 10.0.0.0/8. Haul refuses other private addresses. You can repeat the option."
      ),
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
          "\(SafeText.visible(directory))\(isChosen || Self.isHere(directory) ? "" : ", as in the last run (use --store for another directory)")"
        Self.greet(conninfo, place, perHost: perHost, rules)
      case .interruptedElsewhere(let jobs, let directory):
        let path = SafeText.visible(directory)
        StandardStream.say(
          "haul up: found \(counted(jobs, "interrupted file")) in \(path). To continue these downloads, use "
            + "--store \(shellWord(path)) or also run 'haul worker --store \(UpRun.store)=\(path)'. Otherwise the downloads "
            + "start again from the first byte after five minutes.\n")
      case .settled(let lease) where lease.state == .failed:
        failures.withLock { $0.add(lease.cause?.rawValue ?? lease.state.rawValue) }
      case .settled: break
      case .drained:
        StandardStream.say("haul up: all workers were drained. The pool stops.\n")
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
      "haul up: \(counted(failures.count, "failure")) (\(failures.list)). While 'haul up' runs, 'haul failures' shows the causes, and 'haul retry --state failed' "
        + "retries the failed jobs.\n")
  }

  /// Returns whether `directory` is the directory that a first run would use: `downloads` in the current directory.
  private static func isHere(_ directory: String) -> Bool {
    directory == FileManager.default.currentDirectoryPath + "/downloads"
  }

  /// The sentence about the addresses that workers may connect to, without its full stop.
  private var rules: String {
    let allowed = networks.map(\.description).joined(separator: ", ")
    return networks.isEmpty
      ? "Haul blocks private networks (use --allow-net to allow some of them)"
      : "Haul allows only these private networks: \(allowed)"
  }

  private static func greet(
    _ conninfo: String, _ place: String, perHost: Int, _ rules: String
  ) {
    let set = DatabaseOptions.variables
    let without = set.isEmpty ? "" : "env \(set.map { "-u \($0)" }.joined(separator: " ")) "
    let note =
      set.isEmpty
      ? ""
      : "\n\n'haul up' ignores \(OneOf.listed(set, by: "and")).\nOther commands use \(set.count == 1 ? "this variable" : "these variables") and connect to another database.\n"
        + "To use this pool, run the commands as shown below."
    StandardStream.say(
      """

      Files go to \(place).
      Haul downloads at most \(counted(perHost, "file")) at the same time from one host.
      Use 'haul host set' to change this limit.
      \(rules).\(note)
      In another terminal:
        \(without)haul submit URL…    adds jobs; 'haul jobs' lists them
        psql "\(conninfo)"
      Ctrl-C saves all progress and stops.


      """)
  }
}
