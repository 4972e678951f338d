import Arguments
import HaulSystem
import HaulTransfer
import JobModel
import Stores
import Worker

struct WorkerCommand: HaulCommand {
  static let name = "worker"
  static let role: PoolRole? = .worker
  static let abstract = "Run a worker: claim jobs, download them, hand over what is interrupted."
  static let discussion = """
    SIGTERM, SIGINT or SIGHUP drains it (SIGHUP not under nohup): it claims no more, saves the progress of what runs, hands it back \
    and exits with 0. A second signal ends it at once with 75; others then take over within seconds. \
    So does a database that stays away for longer than leases live while it drains with jobs in hand. A store or queue that is not there is wrong configuration here, 78: starting it again mends nothing.

    Private, loopback and link-local addresses are refused unless --allow-net names them: every worker needs it that \
    serves a queue with jobs that lead there, for any other fails them. http_proxy and its like \
    are not read: --proxy says it.

    In an environment variable several values have a comma between them and no space: \
    HAUL_STORES=films=/srv/films,scratch=/tmp/scratch.

    A credential is a file that its owner alone may read, such as these lines:

      type: bearer
      origins: https://example.org, https://*.example.org
      token-file: example.token

    type is bearer (token or token-file), basic (user, and password or password-file), header (header: Name: value), \
    client-certificate (certificate and key, in PEM) or, for sftp, ssh-key (user and key). It goes to a job's own URL where that is of one of the origins, and no \
    further than to the first redirect to another origin. It is read anew for each job. What a job names and this worker lacks another may have: \
    the job waits for it, for a day. The files of --netrc and --cookies are read once, at the start.

    Other workers than those with --allow-scheme fail what is fetched by ftp, ftps or sftp, and one without --queue serves \
    all queues: give it a queue of its own, and start the others with --queue naming theirs. FTP is \
    anonymous, or by a credential of type basic, which goes over TLS alone; sftp wants a credential, and in --known-hosts the server's key.

    --on-complete runs its command at most once each time a job is completed, when the database has it that it is, four at \
    a time. It learns of the job by HAUL_JOB, HAUL_FILE (the file's whole path), HAUL_PATH (below the store), HAUL_STORE, HAUL_QUEUE, \
    HAUL_BATCH, HAUL_HOST, HAUL_URL (what signs it blanked), HAUL_BYTES, HAUL_FETCHED and HAUL_DIGEST; what it prints goes to standard \
    error. Transfers do not wait for it: it is left out, which is logged as hook.skipped, where 10,000 jobs wait for \
    their turn. It is killed after ten minutes, and 20 seconds after the beginning of a drain.
    """
  static let examples = [
    Example(
      "haul worker --store films=/srv/films --store scratch=/tmp/scratch",
      "Serves the queues of two stores."),
    Example(
      "haul worker --store films=/srv/films --exit-when-idle --allow-net 10.0.0.0/8",
      "Runs until nothing is left; may connect to a private network."),
    Example(
      "haul worker --store films=/srv/films --exit-when-idle --on-complete 'logger \"$HAUL_FILE\"'",
      "Tells the system's log of each file."),
  ]
  static let options: [Option<Self>] =
    [
      .values(
        "store", "<name=dir>", \.stores, environment: "HAUL_STORES",
        "A store and the directory it is mounted at; must be given, and may be repeated."
      ).from(.mounts("store")),
      .values(
        "queue", "<name>", \.queues, environment: "HAUL_QUEUES",
        "Serve only this queue; may be repeated. Without it all queues of the stores."
      ).from(.names("queue")),
      .value(
        "concurrency", short: "j", or: "c", "<n>", \.concurrency, in: 1...1024,
        environment: "HAUL_CONCURRENCY", "Jobs at once."),
      .value(
        "limit-rate", "<size>", \.limitRate, environment: "HAUL_LIMIT_RATE",
        "At most so many bytes a second, all jobs together."),
      .values(
        "allow-net", "<cidr>", \.networks, environment: "HAUL_ALLOW_NET",
        "Also connect to these addresses, such as 10.0.0.0/8; may be repeated."),
      .flag(
        "exit-when-idle", \.exitWhenIdle,
        "Stop when nothing is queued, scheduled, interrupted or running in the queues."),
      .value(
        "on-complete", "<command>", \.onComplete, environment: "HAUL_ON_COMPLETE",
        "Run this by /bin/sh after each job that has completed."),
    ] + group(\.credentials) + group(\.requests) + group(\.database) + group(\.log)
  static let codeOfUnknownName = ExitCode.configuration

  var stores: [MountArgument] = []
  var queues: [PoolName] = []
  var concurrency = 16
  var limitRate: RateArgument?
  var networks: [CIDR] = []
  var exitWhenIdle = false
  var onComplete: String?
  var credentials = CredentialOptions()
  var requests = RequestOptions()
  var database = DatabaseOptions()
  var log = LogOptions()

  func perform() async throws {
    try stores.requireOneEach()
    let settings = try requests.settings(credentials)
    try DescriptorLimit.raise(leases: concurrency, stores: stores.count)
    try await database.withConninfo { conninfo in
      var configuration = WorkerConfiguration(
        conninfo: conninfo, stores: stores.map(\.mount),
        queues: queues.isEmpty ? nil : queues.map(\.argument), concurrency: concurrency,
        allowedNetworks: networks, exitWhenIdle: exitWhenIdle, version: Haul.version)
      configuration.rateLimit = limitRate?.limit
      configuration.requests = settings
      configuration.signsStores = true
      configuration.onComplete = onComplete.flatMap { $0.isEmpty ? nil : $0 }
      let worker = try PoolWorker(configuration, logger: log.logger("worker"))
      StopSignals.stopGracefully { worker.drain() }
      StopSignals.aroundSuspension({ worker.suspend() })
      try await worker.run()
    }
  }
}

/// `NAME=DIR`.
struct MountArgument: OptionValue {
  static let expected = "a store and its directory such as films=/srv/films"

  let mount: StoreMount

  init?(argument: String) {
    let halves = argument.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
    guard halves.count == 2, !halves[1].isEmpty, let name = PoolName(argument: String(halves[0]))
    else { return nil }
    mount = StoreMount(name: name.argument, directory: String(halves[1]))
  }

  var argument: String { "\(mount.name)=\(mount.directory)" }
}

extension [MountArgument] {
  /// A process can have a store in one place.
  func requireOneEach() throws(ExitError) {
    if isEmpty { throw ExitError(.usage, "option '--store' is missing.") }
    let names = map(\.mount.name)
    for (index, name) in names.enumerated() where names[..<index].contains(name) {
      throw ExitError(.usage, "the store \(name) is named twice.")
    }
  }
}

extension CIDR: OptionValue {
  package static var expected: String { "a block of addresses such as 10.0.0.0/8 or fd00::/8" }
  package init?(argument: String) { self.init(argument) }
  package var argument: String { description }
}
