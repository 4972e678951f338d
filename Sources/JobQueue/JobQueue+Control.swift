import FoundationEssentials
package import JobModel
import Postgres

/// A filter for jobs. A job fits if it meets all conditions that are not nil. Commands refuse an empty selector.
package struct JobSelector: Sendable, Encodable, Equatable {
  package var ids: [Int64]?
  package var batch: String?
  package var queue: String?
  package var host: String?
  package var state: JobState?
  package var error: ErrorClass?

  /// Creates a selector without conditions.
  package init() {}

  /// The SQL condition for rows `j` of `haul.jobs`. It takes ``parameters`` as $1 to $6.
  static let condition = """
    ($1::bigint[] IS NULL OR j.job = ANY ($1))
    AND ($2::text IS NULL OR j.batch = $2)
    AND ($3::text IS NULL OR j.queue = $3)
    AND ($4::text IS NULL OR j.host = $4)
    AND ($5::text IS NULL OR j.state = $5::haul.job_state)
    AND ($6::text IS NULL OR haul.has_class(j.error, $6))
    """

  var parameters: [(any PostgresEncodable)?] {
    [ids, batch, queue, host, state?.rawValue, error?.rawValue]
  }
}

/// The commands of operators.
extension JobQueue {
  /// Applies `action` to every job of `selector`, and returns the number of changed jobs. The call works in steps, and commits
  /// after each step.
  ///
  /// The call asks running jobs to stop, and counts them as changed. The workers stop these jobs at the next heartbeat.
  /// `onStep` gets the number of changed jobs after each step. An action on a whole batch ends early if another command
  /// withdraws or replaces the action.
  /// - Throws: `JobQueueError.noSuchName` for a batch, queue, host or id that does not exist.
  package func control(
    _ action: JobAction, _ selector: JobSelector, onStep: (Int) -> Void = { _ in }
  ) async throws -> Int {
    if action == .retry { return try await retry(selector, onStep: onStep) }
    try await requireNames(selector)
    if action == .resume { return try await resume(selector, onStep: onStep) }
    var sweep: Int64?
    return try await steps(onStep) {
      let row = try await rows(
        "SELECT changed, more, sweep FROM haul.\(action.rawValue)($1::jsonb, p_sweep => $2::bigint)",
        [try Self.json(selector), sweep])[0]
      sweep = try row.decode("sweep")
      return row
    }
  }

  private func resume(
    _ selector: JobSelector, onStep: (Int) -> Void
  ) async throws -> Int {
    var (sweep, since) = (Int64?.none, String?.none)
    return try await steps(onStep) {
      let row = try await rows(
        """
        SELECT changed, more, sweep, since::text
        FROM haul.resume($1::jsonb, p_sweep => $2::bigint, p_since => $3::timestamptz)
        """, [try Self.json(selector), sweep, since])[0]
      (sweep, since) = (try row.decode("sweep"), try row.decode("since"))
      return row
    }
  }

  /// Queues failed and cancelled jobs again. The call works in steps, and commits after each step. If a job fails again while
  /// the call runs, the call does not queue the job a second time.
  ///
  /// `ifExists` (`fail`, `skip`, `replace` or `rename`) becomes the option `if_exists` of these jobs; if it is nil, each job
  /// keeps its own option. With `isUndo`, ``operations(batch:limit:)`` lists the command as `cancel --undo`.
  package func retry(
    _ selector: JobSelector, ifExists: String? = nil, isUndo: Bool = false,
    onStep: (Int) -> Void = { _ in }
  ) async throws -> Int {
    try await requireNames(selector)
    var (sweep, since) = (Int64?.none, String?.none)
    return try await steps(onStep) {
      let row = try await rows(
        """
        SELECT r.changed, r.more, r.sweep, r.since::text
        FROM (SELECT set_config('haul_session.action', $5, true) AS action) s CROSS JOIN LATERAL haul.retry(
          CASE WHEN s.action IS NOT NULL THEN $1::jsonb END, p_sweep => $2::bigint, p_if_exists => $3,
          p_since => $4::timestamptz) r
        """,
        [try Self.json(selector), sweep, ifExists, since, isUndo ? "cancel --undo" : "retry"])[0]
      (sweep, since) = (try row.decode("sweep"), try row.decode("since"))
      return row
    }
  }

  /// Sets the priority, 0 (first) to 9, of the jobs of `selector` that have not ended, and returns the number of changed jobs.
  /// The call works in steps, and commits after each step. A running job uses the new priority only when it waits again.
  package func prioritize(
    _ selector: JobSelector, to priority: Int, onStep: (Int) -> Void = { _ in }
  ) async throws -> Int {
    try await requireNames(selector)
    return try await steps(onStep) {
      try await rows(
        "SELECT changed, more FROM haul.prioritize($1::jsonb, $2::smallint)",
        [try Self.json(selector), priority])[0]
    }
  }

  /// The maximum number of jobs that ``affected(_:in:)`` counts.
  package static let mostAffected = 1_000_000

  /// Returns how many jobs of `selector` are in the given states. Counts at most ``mostAffected`` jobs.
  /// - Throws: `JobQueueError.noSuchName` for a batch, queue, host or id that does not exist.
  package func affected(
    _ selector: JobSelector, in states: [JobState]
  ) async throws -> [(state: JobState, count: Int)] {
    if selector != JobSelector() { try await requireNames(selector) }
    let rows = try await rows(
      """
      SELECT state::text AS state, count(*)::int AS count FROM (
        SELECT j.state FROM haul.jobs j
        WHERE \(JobSelector.condition) AND j.state = ANY ($7::haul.job_state[])
        LIMIT $8) t
      GROUP BY t.state ORDER BY t.state
      """,
      selector.parameters + [states.map(\.rawValue), Self.mostAffected])
    return try rows.map {
      (JobState(rawValue: try $0.decode("state")), try $0.decode("count"))
    }
  }

  /// Repeats a call that does one part of the work each time, until no work is left, and returns the sum of `changed`.
  private func steps(
    _ onStep: (Int) -> Void, _ call: () async throws -> Row
  ) async throws -> Int {
    var total = 0
    while true {
      let row = try await call()
      total += try row.decode("changed", as: Int.self)
      if try !row.decode("more", as: Bool.self) { return total }
      onStep(total)
    }
  }

  /// Queues completed jobs again to download their files a second time. Returns the number of queued jobs; a job that is no
  /// longer completed does not count.
  package func redo(_ jobs: [Int64]) async throws -> Int {
    try await call("SELECT haul.redo($1::bigint[])", [jobs])
  }

  /// Records a directory of a store, with the id from the directory's marker file. Returns the id that the database gives the
  /// directory. A second call for the same directory is not an error.
  package func initStore(
    name: String, marker: String, machine: String, root: String
  ) async throws -> Int {
    try await call(
      "SELECT haul.init_store($1, $2::uuid, $3, $4)", [name, marker, machine, root])
  }

  /// Returns the pool's id. Several pools may keep part files in one store directory, and the id distinguishes the part files
  /// of this pool.
  package func poolID() async throws -> String { try await call("SELECT haul.pool_id()", []) }

  /// Takes the jobs back from workers whose processes are known to have ended. Returns the number of these jobs.
  package func rescue(workers: [Int64]) async throws -> Int {
    try await call("SELECT jsonb_array_length(haul.rescue_workers($1::bigint[]))", [workers])
  }

  /// The result when an operator takes all jobs back from a worker.
  package struct RescuedWorker: Sendable, Equatable {
    /// The number of jobs that were taken back.
    package let jobs: Int
    /// Whether the worker had already stopped or died.
    package let hadEnded: Bool
    /// The number of jobs that could not be taken back yet, because another session has locked the jobs' hosts. The pool's
    /// maintenance takes these jobs back later.
    package let kept: Int
  }

  /// Immediately takes all jobs back from a worker, even if its leases have not expired. The worker gets no new jobs. Returns
  /// nil if the worker does not exist.
  package func rescueWorker(_ worker: Int64) async throws -> RescuedWorker? {
    let row = try await rows("SELECT jobs, had_ended, kept FROM haul.rescue_worker($1)", [worker])[
      0]
    guard let jobs: Int = try row.decode("jobs") else { return nil }
    return RescuedWorker(
      jobs: jobs, hadEnded: try row.decode("had_ended"), kept: try row.decode("kept"))
  }

  /// Asks a worker to drain: to claim no more jobs, and to give its running jobs to other workers. Returns false if the worker
  /// is not running.
  package func drainWorker(_ worker: Int64) async throws -> Bool {
    try await call("SELECT haul.drain_worker($1)", [worker])
  }
}
