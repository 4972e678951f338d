package import JobModel
import Postgres

/// What keeps jobs from being started.
package struct Obstacle: Sendable, Decodable, Hashable {
  package enum Kind: String, Sendable, Decodable {
    /// Jobs of the batch `name` are paused; an empty name stands for jobs without a batch.
    case held
    /// No live worker serves the queue `name`; ``Obstacle/start`` says what would.
    case unserved
    /// The queue `name` is paused.
    case paused
    /// The worker `name`, like all of its store, cannot write there; `reason` says why.
    case trouble
    /// Nothing starts on the host `name` for `seconds`, nil until an operator says so; `reason` is that of `haul.hosts`.
    case blocked
    /// The host `name` has as many transfers as it may have now; `reason` is `adaptive` or `unanswered`, as in ``IdleReason``, where
    /// its policy would allow more.
    case full
    /// The interval between starts on the host `name` is not over.
    case interval
    /// The queue `name` runs as many jobs as its limit allows.
    case limited
    /// The workers that serve the queue `name` have no room; ``Obstacle/start`` says what would make some.
    case busy
    /// Part files of the queue `name` are in a directory that no live worker mounts.
    case away
    /// Scheduled jobs, the first of them in `seconds`; `reason` is the class of the error that their last attempts had, nil
    /// where these did not fail.
    case early
  }

  package let kind: Kind
  package let name: String
  package let seconds: Double?
  package let reason: String?
  /// The worker to start for a queue that no worker serves.
  package let start: WorkerStart?
  /// How many jobs it concerns, among those that were looked at.
  package let jobs: Int?
  /// How many of these wait for no time.
  package let due: Int?
  /// What runs there, and how much may.
  package let running: Int?
  package let places: Int?
  /// The number of the next attempt that counts, of the job that is tried first.
  package let attempt: Int?
  package let maxAttempts: Int?
  /// For how many seconds that job is tried while its host or its workers are in trouble.
  package let maxWait: Double?

  package init(
    _ kind: Kind, _ name: String, seconds: Double? = nil, reason: String? = nil,
    start: WorkerStart? = nil, jobs: Int? = nil, due: Int? = nil, running: Int? = nil,
    places: Int? = nil, attempt: Int? = nil, maxAttempts: Int? = nil, maxWait: Double? = nil
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
  }
}

/// The options that a worker needs to serve a queue.
package struct WorkerStart: Sendable, Decodable, Hashable {
  /// The queue's store.
  package let store: String
  /// The queue, where it has to be named: live workers that mount the store claim from others alone.
  package let queue: String?
  /// Schemes of its jobs that workers allow only with an option.
  package let schemes: [String]?
  /// Hosts of its jobs that spell out an address.
  package let hosts: [String]?

  package init(
    store: String, queue: String?, schemes: [String] = [], hosts: [String] = []
  ) {
    self.store = store
    self.queue = queue
    self.schemes = schemes
    self.hosts = hosts
  }
}

/// Everything that keeps jobs from being started.
package struct Causes: Sendable, Decodable, Equatable {
  /// Jobs that wait and are not paused, among those that were looked at.
  package let waiting: Int
  /// Those of them that nothing keeps from being started.
  package let free: Int
  /// Causes that need an operator first, then causes that pass; each by descending number of jobs. At most 100.
  package let causes: [Obstacle]
  /// Causes that are left out.
  package let more: Int

  package init(waiting: Int, free: Int, causes: [Obstacle], more: Int = 0) {
    self.waiting = waiting
    self.free = free
    self.causes = causes
    self.more = more
  }
}

/// Why jobs do not start.
extension JobQueue {
  /// The most jobs that ``causes(of:counts:)`` looks at one by one.
  package static let mostOneByOne = 1000

  /// What keeps the jobs of `selector` from being started, which are as many in each state as `counts` says.
  ///
  /// The database counts ready jobs of the whole pool, of a queue or of a host. Haul reads at most ``mostOneByOne`` other
  /// jobs, some of each state. `isWhole` tells whether these were all.
  package func causes(
    of selector: JobSelector, counts: [(state: JobState, count: Int)]
  ) async throws -> (causes: Causes, isWhole: Bool) {
    var ready = JobSelector()
    ready.queue = selector.queue
    ready.host = selector.host
    let counts = counts.filter { $0.state != .running && $0.count > 0 }
    // In numbers, whatever there are; the others one by one, a state with few jobs first.
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
    let rows: [Causes] = try await view(
      "SELECT haul.causes('{}', $1::bigint[], $2::jsonb)",
      [jobs, isCounted ? try Self.json(ready) : nil])
    guard let causes = rows.first else { return (Causes(waiting: 0, free: 0, causes: []), true) }
    return (causes, looked.reduce(0) { $0 + $1.count } <= Self.mostOneByOne)
  }

  /// How many jobs of `selector` have not ended, by state.
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

  /// How many jobs of `selector` run on each host and in each queue. Reads all leases but no waiting jobs.
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
