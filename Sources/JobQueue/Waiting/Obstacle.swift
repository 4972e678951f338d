package import JobModel
import Postgres

/// A cause that keeps jobs from starting.
package struct Obstacle: Sendable, Decodable, Hashable {
  package enum Kind: String, Sendable, Decodable {
    /// The worker `name` holds jobs and has sent no heartbeat for `seconds`. `reason` is `alone` if no other worker can take over.
    case silent
    /// Jobs of the queue `name` are under the leases of dead workers.
    case lost
    /// All workers that serve the queue `name` are silent, the last of them for `seconds`.
    case unheard
    /// Jobs of the batch `name` are paused. An empty name means jobs without a batch.
    case held
    /// No live worker serves the queue `name`. ``Obstacle/start`` describes a worker that would.
    case unserved
    /// The queue `name` is paused.
    case paused
    /// No worker can write to the store of a queue. `name` is one of these workers, and `reason` is its error.
    case trouble
    /// The host `name` is blocked for `seconds`, or until an operator unblocks it if nil. `reason` is that of `haul.hosts`.
    case blocked
    /// The host `name` has as many transfers as it may have now. If its policy would allow more, `reason` is `adaptive` or
    /// `unanswered`, as in ``IdleReason``.
    case full
    /// The interval between starts on the host `name` is not over. If `reason` is `brief`, some of the jobs may start.
    case interval
    /// The queue `name` runs as many jobs as its limit allows.
    case limited
    /// All workers that serve the queue `name` are full. ``Obstacle/start`` describes another worker for the queue.
    case busy
    /// Part files of the queue `name` are in a directory that no live worker mounts. `reason` names it and its machine.
    case away
    /// The jobs are scheduled for later; the first is due in `seconds`. `reason` is the error class of their last attempts;
    /// nil if these did not fail.
    case early
  }

  package let kind: Kind
  package let name: String
  package let seconds: Double?
  package let reason: String?
  /// The worker that would help, for the kinds `unserved`, `busy`, `silent` and `lost`.
  package let start: WorkerStart?
  /// The number of jobs that this cause affects, of those that were examined.
  package let jobs: Int?
  /// The number of these jobs that wait for no start time.
  package let due: Int?
  /// The number of these jobs that are paused.
  package let held: Int?
  /// The number of running jobs at this host or queue, and how many may run there.
  package let running: Int?
  package let places: Int?
  /// For the job that is tried first: the number of the next attempt that counts.
  package let attempt: Int?
  package let maxAttempts: Int?
  /// The time in seconds that Haul keeps trying this job while its host or its workers are in trouble.
  package let maxWait: Double?
  /// Whether no worker or coordinator runs maintenance; nil for most kinds.
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

/// The options that a worker needs to serve a queue.
package struct WorkerStart: Sendable, Decodable, Hashable {
  /// The queue's store.
  package let store: String
  /// The queue that the worker must name with `--queue`, because live workers already mount the store but claim only from
  /// other queues. Nil if the worker does not have to name a queue.
  package let queue: String?
  /// The URL schemes of the jobs that a worker accepts only with an option.
  package let schemes: [String]?
  /// The hosts of the jobs that are IP addresses or `localhost`, except those that an operator has blocked.
  package let hosts: [String]?
  /// The directories of the store in the database.
  package let roots: [Root]?

  /// A directory of a store, on one machine.
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

/// All causes that keep jobs from starting.
package struct Causes: Sendable, Decodable, Equatable {
  /// The number of waiting jobs that are not paused, of those that were examined.
  package let waiting: Int
  /// The number of these jobs that nothing blocks.
  package let free: Int
  /// The causes, at most 100: those that need an operator first, then those that pass; each group by descending number of
  /// jobs.
  package let causes: [Obstacle]
  /// The number of causes that are left out.
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

  /// Returns what keeps the jobs of `selector` from starting. `counts` says how many of them are in each state.
  ///
  /// The database counts ready jobs of the whole pool, of a queue or of a host. Haul reads at most ``mostOneByOne`` other
  /// jobs, some of each state, and as many that run. `isWhole` tells whether these were all of the other jobs.
  package func causes(
    of selector: JobSelector, counts: [(state: JobState, count: Int)]
  ) async throws -> (causes: Causes, isWhole: Bool) {
    var ready = JobSelector()
    ready.queue = selector.queue
    ready.host = selector.host
    let running = counts.contains { $0.state == .running && $0.count > 0 }
    let counts = counts.filter { $0.state != .running && $0.count > 0 }
    // Ready jobs are only counted if possible. The others are read one by one, states with few jobs first.
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
      // Their workers may be silent.
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

  /// Returns the number of jobs of `selector` that have not ended, by state.
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
