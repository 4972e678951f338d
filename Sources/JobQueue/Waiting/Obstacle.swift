package import JobModel
import Postgres

/// A reason why jobs do not start.
package struct Obstacle: Sendable, Decodable, Hashable {
  package enum Kind: String, Sendable, Decodable {
    /// The worker `name` has running jobs but has sent no heartbeat for `seconds`. `reason` is `alone` if no other worker can
    /// take the jobs over.
    case silent
    /// Jobs of the queue `name` still belong to workers that have died.
    case lost
    /// All workers that serve the queue `name` have stopped sending heartbeats. The last heartbeat came `seconds` ago.
    case unheard
    /// Jobs of the batch `name` are paused. If the name is empty, the jobs have no batch.
    case held
    /// No live worker serves the queue `name`. ``Obstacle/start`` describes a worker that would serve the queue.
    case unserved
    /// The queue `name` is paused.
    case paused
    /// No worker can write to the store of a queue. `name` is one of the queue's workers, and `reason` is that worker's error.
    case trouble
    /// The host `name` is blocked for `seconds`. If `seconds` is nil, the host is blocked until an operator unblocks it.
    /// `reason` is the block reason from the view `haul.hosts`.
    case blocked
    /// The host `name` has reached its current limit of transfers. If the limit that was set for the host is higher, `reason`
    /// is `adaptive` or `unanswered`, as in ``IdleReason``.
    case full
    /// The minimum time between two starts on the host `name` has not passed. `reason` is `brief` if some of the jobs may start
    /// now, or if the minimum time is less than 1 second.
    case interval
    /// The queue `name` has reached its limit of running jobs.
    case limited
    /// All workers that serve the queue `name` run as many jobs as they can. ``Obstacle/start`` describes an additional worker
    /// for the queue.
    case busy
    /// Part files of jobs in the queue `name` are in a directory that no live worker mounts. `reason` names the directory and
    /// its machine.
    case away
    /// The jobs are scheduled for later. The first one may start in `seconds`. `reason` is the error class of the jobs' last
    /// attempts; nil if the last attempts did not fail.
    case early
  }

  package let kind: Kind
  package let name: String
  package let seconds: Double?
  package let reason: String?
  /// The worker to start so that the jobs can run; nil unless the kind is `unserved`, `busy`, `silent` or `lost`.
  package let start: WorkerStart?
  /// The number of examined jobs that this reason affects.
  package let jobs: Int?
  /// The number of the jobs in ``jobs`` that do not wait for a start time.
  package let due: Int?
  /// The number of the jobs in ``jobs`` that are paused.
  package let held: Int?
  /// The number of running jobs of the host, of the queue, or of the workers that serve the queue. The limit is ``places``.
  /// Both are nil unless the kind is `full`, `limited` or `busy`.
  package let running: Int?
  package let places: Int?
  /// The number of the next attempt of the job that starts first; nil unless the kind is `early`. Attempts that failed because
  /// of the host or the worker are not counted.
  package let attempt: Int?
  package let maxAttempts: Int?
  /// The maximum time in seconds for retries of the job that starts first, while its host or its workers have problems; nil
  /// unless the kind is `early`.
  package let maxWait: Double?
  /// Whether no process runs the pool's maintenance; nil unless the kind is `lost` or `early`.
  package let leaderless: Bool?

  package init(
    _ kind: Kind, _ name: String, seconds: Double? = nil, reason: String? = nil,
    start: WorkerStart? = nil, jobs: Int? = nil, due: Int? = nil, running: Int? = nil,
    places: Int? = nil, attempt: Int? = nil, maxAttempts: Int? = nil, maxWait: Double? = nil,
    leaderless: Bool? = nil, held: Int? = nil
  ) {
    self.kind = kind
    self.name = name
    self.seconds = seconds
    self.reason = reason
    self.start = start
    self.jobs = jobs
    self.due = due
    self.running = running
    self.places = places
    self.attempt = attempt
    self.maxAttempts = maxAttempts
    self.maxWait = maxWait
    self.leaderless = leaderless
    self.held = held
  }
}

/// The options with which a worker would serve a queue.
package struct WorkerStart: Sendable, Decodable, Hashable {
  /// The name of the queue's store, for the option `--store`.
  package let store: String
  /// The queue for the option `--queue`; nil if the worker need not name a queue. The option is necessary if live workers mount
  /// the store but claim only from other queues.
  package let queue: String?
  /// The URL schemes of the queue's jobs that a worker downloads only if an option allows them.
  package let schemes: [String]?
  /// The hosts of the queue's jobs that are IP addresses or `localhost`, except hosts that an operator has blocked.
  package let hosts: [String]?
  /// The directories of the store that the database knows.
  package let roots: [Root]?

  /// A directory of a store on one machine.
  package struct Root: Sendable, Decodable, Hashable {
    package let machine: String
    package let root: String

    package init(machine: String, root: String) {
      self.machine = machine
      self.root = root
    }
  }

  package init(
    store: String, queue: String?, schemes: [String] = [], hosts: [String] = [], roots: [Root] = []
  ) {
    self.store = store
    self.queue = queue
    self.schemes = schemes
    self.hosts = hosts
    self.roots = roots
  }
}

/// The reasons why jobs do not start.
package struct Causes: Sendable, Decodable, Equatable {
  /// The number of examined jobs that wait and are not paused.
  package let waiting: Int
  /// The number of ``waiting`` jobs that nothing blocks.
  package let free: Int
  /// The reasons, at most 100. Reasons that need an operator come first, then temporary reasons. Each group is ordered by the
  /// number of jobs, largest first.
  package let causes: [Obstacle]
  /// The number of reasons that are omitted from ``causes``.
  package let more: Int

  package init(waiting: Int, free: Int, causes: [Obstacle], more: Int = 0) {
    self.waiting = waiting
    self.free = free
    self.causes = causes
    self.more = more
  }
}

/// Queries about why jobs do not start.
extension JobQueue {
  /// The maximum number of jobs that ``causes(of:counts:)`` examines one by one.
  package static let mostOneByOne = 1000

  /// Returns the reasons why the jobs of `selector` do not start. `counts` are the numbers of these jobs by state.
  ///
  /// If `selector` names the whole pool, a queue or a host, the database counts the jobs that are ready to start. The function
  /// reads all other jobs one by one: at most ``mostOneByOne`` waiting jobs, some in each state, and at most ``mostOneByOne``
  /// running jobs. `isWhole` in the result is true if the function read all waiting jobs.
  package func causes(
    of selector: JobSelector, counts: [(state: JobState, count: Int)]
  ) async throws -> (causes: Causes, isWhole: Bool) {
    var ready = JobSelector()
    ready.queue = selector.queue
    ready.host = selector.host
    let running = counts.contains { $0.state == .running && $0.count > 0 }
    let counts = counts.filter { $0.state != .running && $0.count > 0 }
    // If possible, ready jobs are only counted. The others are read one by one, states with few jobs first.
    let isCounted = selector == ready
    let looked = counts.filter { !isCounted || !($0.state == .queued || $0.state == .interrupted) }
      .sorted { $0.count < $1.count }
    var jobs: [Int64] = []
    for (index, (state, _)) in looked.enumerated() {
      var part = selector
      part.state = state
      let room = (Self.mostOneByOne - jobs.count) / (looked.count - index)
      jobs += try await call(
        "SELECT haul.first_jobs($1::jsonb, $2::int)", [try Self.json(part), room], as: [Int64].self)
    }
    if running && !isCounted {
      // Examine running jobs too: the reason may be a worker that has stopped sending heartbeats.
      var part = selector
      part.state = .running
      jobs += try await call(
        "SELECT haul.first_jobs($1::jsonb, $2::int)", [try Self.json(part), Self.mostOneByOne],
        as: [Int64].self)
    }
    let rows: [Causes] = try await view(
      "SELECT haul.causes('{}', $1::bigint[], $2::jsonb, true)",
      [jobs, isCounted ? try Self.json(ready) : nil])
    guard let causes = rows.first else { return (Causes(waiting: 0, free: 0, causes: []), true) }
    return (causes, looked.reduce(0) { $0 + $1.count } <= Self.mostOneByOne)
  }

  /// Returns the number of unfinished jobs of `selector` in each state.
  /// - Throws: `JobQueueError.noSuchName` for a batch, queue, host or id that does not exist.
  package func liveJobs(
    of selector: JobSelector
  ) async throws -> [(state: JobState, count: Int)] {
    var place = JobSelector()
    place.queue = selector.queue
    place.host = selector.host
    guard selector == place else { return try await affected(selector, in: JobAction.live) }
    if selector != JobSelector() { try await requireNames(selector) }
    let rows = try await rows(
      "SELECT state::text AS state, jobs::int AS count FROM haul.live_jobs($1, $2)",
      [selector.queue, selector.host])
    return try rows.map { (JobState(rawValue: try $0.decode("state")), try $0.decode("count")) }
  }

  /// Returns the number of running jobs of `selector` for each host and queue. Reads all leases but no waiting jobs.
  package func runningByPlace(
    _ selector: JobSelector
  ) async throws -> [(host: String, queue: String, jobs: Int)] {
    let rows = try await rows(
      """
      SELECT r.host, r.queue, count(*)::int AS jobs FROM haul.running r
      WHERE ($1::bigint[] IS NULL OR r.job = ANY ($1)) AND ($2::text IS NULL OR r.batch = $2)
        AND ($3::text IS NULL OR r.queue = $3) AND ($4::text IS NULL OR r.host = $4)
      GROUP BY 1, 2
      """, [selector.ids, selector.batch, selector.queue, selector.host])
    return try rows.map {
      (try $0.decode("host"), try $0.decode("queue"), try $0.decode("jobs"))
    }
  }
}
