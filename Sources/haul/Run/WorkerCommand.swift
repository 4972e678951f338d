import Arguments
import HaulSystem
import HaulTransfer
import JobModel
import Stores
import Worker

struct WorkerCommand: HaulCommand {
  static let name = "worker"
  static let role: PoolRole? = .worker
  static let abstract =
    "Run a worker: claim jobs, download them, and hand interrupted downloads to other workers."
  static let discussion = """
    A worker claims jobs from the database, downloads their files and writes them to its stores. You can \
    start and stop workers at any time, on any machine. 'haul workers' lists them.

    If the worker stops, its jobs become free for other workers:

      it drains: SIGTERM, SIGINT, SIGHUP or 'haul drain'   immediately
      its process dies, or it gets a second signal         after 3 to 5 seconds
      its process hangs and sends no heartbeats            after 15 seconds
      its machine dies or loses its network                after 10 to 15 seconds

    A worker that mounts the same directory then continues a download from its part file. If none does so \
    within five more minutes, any worker of the queue starts the download again from the first byte. If the \
    worker hangs but still sends heartbeats, use 'haul rescue worker'.

    A draining worker claims no more jobs, saves the progress of its running jobs, gives these jobs back and \
    exits with 0. It exits with 75 if it cannot reach the database for about 20 seconds, or immediately after \
    a second signal. A worker that does not drain keeps trying to reach the database. Under nohup, SIGHUP has \
    no effect. If a store or queue does not exist, the worker exits with 78. Repair the configuration before \
    you start it again. If the database has the schema of another Haul version, the worker exits with 75.

    Two limits apply. This worker runs up to --concurrency jobs at the same time. The whole pool runs at most \
    4 transfers from one host, however many workers run. 'haul host set' changes the limit per host.

    Haul refuses private, loopback and link-local addresses unless --allow-net allows them. If jobs of a queue \
    need such addresses, give --allow-net to every worker of the queue. On a worker without --allow-net, these \
    jobs fail. Workers ignore http_proxy and similar variables. Use --proxy instead.

    In an environment variable, separate several values with commas and no spaces: \
    HAUL_STORES=films=/srv/films,scratch=/tmp/scratch.

    A worker can log in to hosts with secrets from files. The database never stores them:

      --credentials DIR   a job names a file of DIR: haul submit --credential NAME
      --netrc FILE        a user and password per host, for jobs without a credential
      --cookies FILE      cookies for each host, for all jobs

    Only the owner may have permission to read these files. Example of a credential, DIR/NAME:

      type: bearer
      origins: https://example.org, https://*.example.org
      token-file: example.token

    The types and their fields:

      bearer              token or token-file
      basic               user, and password or password-file
      header              header, in the form Name: value
      client-certificate  certificate and key, in PEM
      ssh-key             user and key, only for sftp

    Haul sends a credential with the request for a job if the origins of the credential include the origin of \
    the URL. After the first redirect to another origin, Haul no longer sends the credential. Haul reads the \
    credential file again for each job. If this worker lacks the credential of a job, the job waits up to a \
    day for a worker that has it. Haul reads the files of --netrc and --cookies once, at the start.

    On a worker without --allow-scheme, jobs with ftp, ftps or sftp URLs fail. So give these jobs a queue of \
    their own. Start all other workers with --queue and the names of other queues. A worker without \
    --queue serves all queues. For ftp and ftps, Haul logs in anonymously or with a credential of type basic. \
    Haul sends such a credential only over TLS. For sftp, Haul needs a credential or an entry of --netrc, and \
    the key of the server in the file of --known-hosts.

    Haul runs the command of --on-complete at most once for each completion of a job, after the database has \
    recorded the completion. Up to four commands run at the same time. The command gets HAUL_JOB, HAUL_FILE \
    (the full path), HAUL_PATH (the path in the store), HAUL_STORE, HAUL_QUEUE, HAUL_BATCH, HAUL_HOST, \
    HAUL_URL (without signatures), HAUL_BYTES, HAUL_FETCHED and HAUL_DIGEST. Haul writes the output of the \
    command to standard error. Transfers do not wait for the command. If 10,000 commands are already waiting, \
    Haul skips further commands and logs hook.skipped. Haul kills a command after ten minutes, or 20 seconds \
    after a drain begins.
    """
  static let examples = [
    Example(
      "haul worker --store films=/srv/films --store scratch=/tmp/scratch",
      "Serves the queues of two stores."),
    Example(
      "haul worker --store films=/srv/films --exit-when-idle --allow-net 10.0.0.0/8",
      "Runs until no job is left, and may connect to a private network."),
    Example(
      "haul worker --store films=/srv/films --exit-when-idle --on-complete 'logger \"$HAUL_FILE\"'",
      "Writes a line to the system log for each file."),
  ]
  static let options: [Option<Self>] =
    [
      .values(
        "store", "<name=dir>", \.stores, environment: "HAUL_STORES",
        "A store and the directory where it is mounted. Required. You can repeat the option."
      ).from(.mounts("store")),
      .values(
        "queue", "<name>", \.queues, environment: "HAUL_QUEUES",
        "Serve only this queue. You can repeat the option. Default: all queues of the stores."
      ).from(.names("queue")),
      .value(
        "concurrency", short: "j", or: "c", "<n>", \.concurrency, in: 1...1024,
        environment: "HAUL_CONCURRENCY",
        "How many jobs this worker runs at the same time. The limit per host applies too."),
      .value(
        "limit-rate", "<size>", \.limitRate, environment: "HAUL_LIMIT_RATE",
        "Limit all jobs together to this many bytes per second."),
      .values(
        "allow-net", "<cidr>", \.networks, environment: "HAUL_ALLOW_NET",
        "Allow connections to these private addresses, such as 10.0.0.0/8. Haul refuses other private addresses. You can repeat the option."
      ),
      .flag(
        "exit-when-idle", \.exitWhenIdle,
        "Stop when the queues have no queued, scheduled, interrupted or running jobs, and exit with 0 even if jobs failed."
      ),
      .value(
        "on-complete", "<command>", \.onComplete, environment: "HAUL_ON_COMPLETE",
        "Run this command with /bin/sh after each completed job."),
    ] + group(\.credentials) + group(\.requests) + group(\.database) + group(\.log)
  static let codeOfUnknownName = ExitCode.configuration
  // An upgrade of the database or of the program ends this error, and the service manager restarts the worker until then.
  static let codeOfOtherVersion = ExitCode.tryAgain

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
      configuration.schema = database.schema
      configuration.rateLimit = limitRate?.limit
      configuration.requests = settings
      configuration.signsStores = true
      configuration.onComplete = onComplete.flatMap { $0.isEmpty ? nil : $0 }
      let manager = ServiceManager.ofThisProcess()
      configuration.onStarted = { manager.ready() }
      let worker = try PoolWorker(configuration, logger: log.logger("worker"))
      StopSignals.stopGracefully {
        manager.stopping()
        worker.drain()
      }
      StopSignals.aroundSuspension({ worker.suspend() })
      try await manager.watching { try await worker.run() }
    }
  }
}

/// A store and its directory: `NAME=DIR`.
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
  /// Checks that each store has only one directory, because a process can use a store only in one place.
  func requireOneEach() throws(ExitError) {
    if isEmpty { throw ExitError(.usage, "option '--store' is missing.") }
    let names = map(\.mount.name)
    for (index, name) in names.enumerated() where names[..<index].contains(name) {
      throw ExitError(.usage, "the store \(name) is given twice.")
    }
  }
}

extension CIDR: OptionValue {
  package static var expected: String { "a block of addresses such as 10.0.0.0/8 or fd00::/8" }
  package init?(argument: String) { self.init(argument) }
  package var argument: String { description }
}
