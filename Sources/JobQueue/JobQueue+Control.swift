import FoundationEssentials
package import JobModel
import Postgres

/// Which jobs an operator means. Parts narrow each other; an empty selector is refused.
package struct JobSelector: Sendable, Encodable, Equatable {
  package var ids: [Int64]?
  package var batch: String?
  package var queue: String?
  package var host: String?
  package var state: JobState?
  package var error: ErrorClass?

  /// Nothing selected yet.
  package init() {}

  /// The condition for rows `j` of `haul.jobs`; it takes ``parameters`` as $1 to $6.
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

/// What operators call.
extension JobQueue {
  /// Does `action` to every job of `selector`, in steps that each commit, and returns how many it changed.
  ///
  /// Running jobs are asked to stop and counted; their workers carry it out within a heartbeat. `onStep` gets the number
  /// so far. On a whole batch, it ends early if another command withdraws or replaces it.
  /// - Throws: `JobQueueError.noSuchName` for a batch, queue, host or id that does not exist.
  package func control(
    _ action: JobAction, _ selector: JobSelector, onStep: (Int) -> Void = { _ in }
  ) async throws -> Int {
    if action == .retry { return try await retry(selector, onStep: onStep) }
    try await requireNames(selector)
    var sweep: Int64?
    return try await steps(onStep) {
      let row = try await rows(
        "SELECT changed, more, sweep FROM haul.\(action.rawValue)($1::jsonb, p_sweep => $2::bigint)",
        [try Self.json(selector), sweep])[0]
      sweep = try row.decode("sweep")
      return row
    }
  }

  /// Queues failed and cancelled jobs again, in steps like `control`. Each job is queued once, even if it fails again
  /// meanwhile. `ifExists` (`fail`, `skip`, `replace` or `rename`) becomes the jobs' collision policy; nil keeps theirs.
  package func retry(
    _ selector: JobSelector, ifExists: String? = nil, onStep: (Int) -> Void = { _ in }
  ) async throws -> Int {
    try await requireNames(selector)
    var (sweep, since) = (Int64?.none, String?.none)
    return try await steps(onStep) {
      let row = try await rows(
        """
        SELECT changed, more, sweep, since::text FROM haul.retry($1::jsonb, p_sweep => $2::bigint, p_if_exists => $3,
          p_since => $4::timestamptz)
        """, [try Self.json(selector), sweep, ifExists, since])[0]
      (sweep, since) = (try row.decode("sweep"), try row.decode("since"))
      return row
    }
  }

  /// Gives the jobs of `selector` that have not ended another priority, 0 (first) to 9, in steps that each commit, and
  /// returns how many it changed. A running job uses it when it waits again.
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

  /// The most jobs that ``affected(_:in:)`` counts.
  package static let mostAffected = 1_000_000

  /// How many jobs of `selector` are in each of these states now; at most ``mostAffected`` are counted.
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

  /// Calls a function that does a part of its work each time, until nothing is left; returns the sum.
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

  /// Queues completed jobs again, and returns how many of these still were completed.
  package func redo(_ jobs: [Int64]) async throws -> Int {
    try await call("SELECT haul.redo($1::bigint[])", [jobs])
  }

  /// Records a store's marker; returns the id of the instance. Repeating it is not an error.
  package func initStore(
    name: String, marker: String, machine: String, root: String
  ) async throws -> Int {
    try await call(
      "SELECT haul.init_store($1, $2::uuid, $3, $4)", [name, marker, machine, root])
  }

  /// What tells this database's part files from another's on the same store.
  package func poolID() async throws -> String { try await call("SELECT haul.pool_id()", []) }

  /// Takes back the leases of workers whose processes the caller knows to be gone; returns how many.
  package func rescue(workers: [Int64]) async throws -> Int {
    try await call("SELECT jsonb_array_length(haul.rescue_workers($1::bigint[]))", [workers])
  }

  /// What an operator's rescue has found.
  package struct RescuedWorker: Sendable, Equatable {
    /// How many jobs it took back.
    package let jobs: Int
    /// Whether the worker had stopped or died before.
    package let hadEnded: Bool
    /// How many jobs it keeps until another session lets go of their hosts; the leader then takes them back.
    package let kept: Int
  }

  /// Takes the jobs of a worker back at once, whatever the clocks say, and gives it no others; nil if there is no such worker.
  package func rescueWorker(_ worker: Int64) async throws -> RescuedWorker? {
    let row = try await rows("SELECT jobs, had_ended, kept FROM haul.rescue_worker($1)", [worker])[
      0]
    guard let jobs: Int = try row.decode("jobs") else { return nil }
    return RescuedWorker(
      jobs: jobs, hadEnded: try row.decode("had_ended"), kept: try row.decode("kept"))
  }

  /// Asks a worker to drain; false if it is not running.
  package func drainWorker(_ worker: Int64) async throws -> Bool {
    try await call("SELECT haul.drain_worker($1)", [worker])
  }
}
