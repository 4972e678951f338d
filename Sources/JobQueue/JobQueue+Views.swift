import FoundationEssentials
import JobModel
import Postgres

/// Queries of the views. No query delays workers that claim jobs.
extension JobQueue {
  /// Returns at most `limit` jobs of `selector` whose ids are less than `before`, newest first. An empty selector means all
  /// jobs.
  /// - Throws: `JobQueueError.noSuchName` for a batch, queue, host or id that does not exist.
  package func jobs(
    _ selector: JobSelector, before: Int64 = .max, limit: Int
  ) async throws -> [JobRow] {
    if selector != JobSelector() {
      try await requireNames(selector)
    }
    return try await view(
      """
      SELECT to_json(v) FROM (
        SELECT j.* FROM haul.jobs j
        WHERE \(JobSelector.condition) AND j.job < $7
        ORDER BY j.job DESC LIMIT $8) v
      """,
      selector.parameters + [before, limit])
  }

  /// Returns at most `limit` jobs of `selector`: running jobs first, then waiting jobs in the order of their starts, then ended
  /// jobs, newest first. An empty selector means all jobs. A job that ends during the call may be listed as waiting.
  /// - Throws: `JobQueueError.noSuchName` for a batch, queue, host or id that does not exist.
  package func firstJobs(_ selector: JobSelector, limit: Int) async throws -> [JobRow] {
    if selector != JobSelector() { try await requireNames(selector) }
    let ids: [Int64] = try await call(
      "SELECT haul.first_jobs($1::jsonb, $2::int)", [try Self.json(selector), limit])
    return try await jobs(ids)
  }

  /// Returns the jobs with these ids, in this order. Omits jobs that no longer exist.
  func jobs(_ ids: [Int64]) async throws -> [JobRow] {
    var rows: [JobRow] = []
    for start in stride(from: 0, to: ids.count, by: Self.rowsAtOnce) {
      rows += try await view(
        """
        SELECT to_json(v) FROM (
          SELECT j.* FROM unnest($1::bigint[]) WITH ORDINALITY AS f(job, place)
          JOIN (SELECT j.* FROM haul.jobs j WHERE j.job = ANY ($1)) j ON j.job = f.job ORDER BY f.place) v
        """, [Array(ids[start..<min(start + Self.rowsAtOnce, ids.count)])])
    }
    return rows
  }

  /// The maximum number of jobs that one query looks up by id. For more ids, the planner would read all jobs.
  private static let rowsAtOnce = 10_000

  /// Returns the attempts of a job, oldest first. A running attempt is the last one.
  package func attempts(of job: Int64) async throws -> [AttemptRow] {
    try await view(
      """
      SELECT u.v::json FROM (
        SELECT a.attempt, to_jsonb(a) || jsonb_build_object('seconds', extract(epoch FROM a.ended_at - a.started_at)) AS v
        FROM haul.attempts a WHERE a.job = $1
        UNION ALL
        SELECT r.attempt, jsonb_build_object('attempt', r.attempt, 'token', r.token, 'worker', r.worker, 'machine', r.machine,
          'result', 'running', 'charged', false, 'started_at', r.started_at, 'resumed_at', r.resumed_at,
          'fetched', greatest(r.bytes - r.resumed_at, 0), 'durable', coalesce(r.durable, 0), 'changes', 0,
          'seconds', extract(epoch FROM clock_timestamp() - r.started_at))
        FROM haul.running r WHERE r.job = $1) u
      ORDER BY u.attempt
      """, [job])
  }

  /// Returns at most `limit` workers (nil: no limit) in the order of their registration. With `ids`, returns these workers in
  /// any state. Otherwise, returns the live workers, or with `includingGone` all workers that were ever registered.
  /// - Throws: `JobQueueError.noSuchName` for an id that does not exist.
  package func workers(
    _ ids: [Int64] = [], includingGone: Bool, limit: Int? = nil
  ) async throws -> [WorkerRow] {
    let rows: [WorkerRow] = try await view(
      """
      SELECT to_json(v) FROM (
        SELECT w.*, extract(epoch FROM clock_timestamp() - w.heartbeat_at) AS silence
        FROM haul.workers w
        WHERE CASE WHEN $1::bigint[] IS NULL THEN $2 OR w.state NOT IN ('stopped', 'dead') ELSE w.worker = ANY ($1) END
        ORDER BY w.worker LIMIT $3) v
      """, [ids.isEmpty ? nil : ids, includingGone, limit])
    try await require("worker", ids.map(String.init), among: rows.map { String($0.worker) }, limit)
    return rows
  }

  /// Returns the worker with this id; nil if no worker has registered with it.
  package func worker(_ id: Int64) async throws -> WorkerRow? {
    let rows: [WorkerRow] = try await view(
      """
      SELECT to_json(v) FROM (
        SELECT w.*, extract(epoch FROM clock_timestamp() - w.heartbeat_at) AS silence
        FROM haul.workers w WHERE w.worker = $1) v
      """, [id])
    return rows.first
  }

  /// Returns the workers that hold leases: each key is the id of a worker, and each value is the process id of that worker.
  package func leaseHolders() async throws -> [Int64: Int] {
    let rows = try await rows(
      """
      SELECT w.worker, w.pid FROM haul.workers w WHERE w.worker IN (SELECT r.worker FROM haul.running r)
      """, [])
    let pairs = try rows.map { row in
      (try row.decode(0, as: Int64.self), try row.decode(1, as: Int.self))
    }
    return Dictionary(uniqueKeysWithValues: pairs)
  }

  /// Returns the number of unfinished jobs with a part file in each directory of a store. Each key is the database's id of a
  /// directory. The query needs the rights of the schema's owner.
  package func interruptedJobs() async throws -> [Int: Int] {
    let rows = try await rows(
      """
      SELECT c.instance, count(*) FROM haul.checkpoint c
      WHERE NOT EXISTS (SELECT FROM haul.outcome o WHERE o.job = c.job) GROUP BY c.instance
      """, [])
    let pairs = try rows.map { (try $0.decode(0, as: Int.self), try $0.decode(1, as: Int.self)) }
    return Dictionary(uniqueKeysWithValues: pairs)
  }

  /// Returns all queues, or the queues `names`, in the order of their names.
  /// - Throws: `JobQueueError.noSuchName` for a name that does not exist.
  package func queues(_ names: [String] = [], limit: Int? = nil) async throws -> [QueueRow] {
    let rows: [QueueRow] = try await view(
      """
      SELECT to_jsonb(v) || \(Self.keptSeconds) FROM (
        SELECT q.* FROM haul.queues q WHERE $1::text[] IS NULL OR q.queue = ANY ($1) ORDER BY q.queue LIMIT $2) v
      """, [names.isEmpty ? nil : names, limit])
    try await require("queue", names, among: rows.map(\.queue), limit)
    return rows
  }

  /// Returns the directories of all stores, or of the stores `names`, in the order of store name and directory id.
  /// - Throws: `JobQueueError.noSuchName` for a name that does not exist.
  package func stores(_ names: [String] = [], limit: Int? = nil) async throws -> [StoreRow] {
    let rows: [StoreRow] = try await view(
      """
      SELECT to_json(v) FROM (
        SELECT s.* FROM haul.stores s WHERE $1::text[] IS NULL OR s.store = ANY ($1)
        ORDER BY s.store, s.instance LIMIT $2) v
      """, [names.isEmpty ? nil : names, limit])
    try await require("store", names, among: rows.map(\.store), limit)
    return rows
  }

  /// Returns whether any queue puts its files into this store.
  package func hasQueue(ofStore store: String) async throws -> Bool {
    try await call("SELECT EXISTS (SELECT FROM haul.queues q WHERE q.store = $1)", [store])
  }

  /// Returns the limits that were set for hosts, in the order of their patterns: all of them, or those of `patterns`.
  /// - Throws: `JobQueueError.noSuchName` for a pattern without limits.
  package func policies(_ patterns: [String] = [], limit: Int? = nil) async throws -> [PolicyRow] {
    let rows: [PolicyRow] = try await view(
      """
      SELECT to_json(v) FROM (
        SELECT p.*, extract(epoch FROM p.min_interval) AS interval FROM haul.policies p
        WHERE $1::text[] IS NULL OR p.pattern = ANY ($1) ORDER BY p.pattern LIMIT $2) v
      """, [patterns.isEmpty ? nil : patterns, limit])
    try await require("policy", patterns, among: rows.map(\.pattern), limit)
    return rows
  }

  /// Returns whether a job exists on a host that fits `pattern`: a name, `*.suffix` or `*`. If no job of a matching host has
  /// ever waited or started, the query reads all jobs.
  package func hasJobs(onHost pattern: String) async throws -> Bool {
    try await call(
      """
      SELECT EXISTS (SELECT FROM haul.hosts h
          WHERE (h.last_start IS NOT NULL OR h.waiting) AND CASE WHEN starts_with($1, '*')
            THEN right(h.host, length($1) - 1) = substr($1, 2) ELSE h.host = $1 END)
        OR EXISTS (SELECT FROM haul.jobs j
          WHERE CASE WHEN starts_with($1, '*') THEN right(j.host, length($1) - 1) = substr($1, 2) ELSE j.host = $1 END)
      """, [pattern])
  }

  /// Returns at most `limit` hosts, filtered by `names` and by the reason `idle` if given. Hosts with the most running jobs
  /// come first, then hosts with waiting jobs, then all others by name.
  /// - Throws: `JobQueueError.noSuchName` for a name that does not exist.
  package func hosts(
    _ names: [String] = [], idle: String? = nil, limit: Int
  ) async throws -> [HostRow] {
    let rows: [HostRow] = try await view(
      """
      SELECT to_json(v) FROM (
        SELECT h.*, extract(epoch FROM h.min_interval) AS interval FROM haul.hosts h
        WHERE ($1::text IS NULL OR h.why_idle = $1) AND ($2::text[] IS NULL OR h.host = ANY ($2))
        ORDER BY h.running DESC, h.waiting DESC, h.host LIMIT $3) v
      """, [idle, names.isEmpty ? nil : names, limit])
    try await require("listed host", names, among: rows.map(\.host), limit)
    return rows
  }

  /// Returns the number of batches with jobs, or without jobs if `withJobs` is false. A batch has no jobs if all its lines were
  /// already jobs of other batches.
  package func batchCount(withJobs: Bool) async throws -> Int64 {
    try await call("SELECT count(*) FROM haul.batches b WHERE (b.jobs > 0) = $1", [withJobs])
  }

  /// Returns the maximum number of concurrent transfers to a host for which no limit was set. This is the limit that was set
  /// for the pattern `*`, or 4 transfers if none was set.
  package func usualHostCap() async throws -> Int {
    try await call(
      "SELECT coalesce((SELECT p.cap FROM haul.policies p WHERE p.pattern = '*'), 4)::bigint", [])
  }

  /// Returns which workers serve the queue now; nil if the queue does not exist.
  package func service(of queue: String) async throws -> QueueService? {
    let rows: [QueueService] = try await view(
      """
      SELECT json_build_object('store', q.store, 'paused', q.paused,
        'mounted', EXISTS (SELECT FROM haul.workers w WHERE q.store = ANY (w.stores) AND w.state IN ('alive', 'silent')),
        'workers', (
          SELECT coalesce(json_agg(DISTINCT jsonb_build_object('schemes', w.schemes, 'networks', w.networks)), '[]')
          FROM haul.workers w WHERE w.state IN ('alive', 'silent') AND q.store = ANY (w.stores)
            AND (w.queues IS NULL OR q.queue = ANY (w.queues))),
        'roots', (SELECT coalesce(json_agg(DISTINCT jsonb_build_object('machine', i.machine, 'root', i.root)), '[]')
          FROM haul.stores i WHERE i.store = q.store))
      FROM haul.queues q WHERE q.queue = $1
      """, [queue])
    return rows.first
  }

  /// Returns at most `limit` batches, newest first, or the batches `names`. With `unfinishedFirst`, batches that have not ended
  /// come first. A batch has no jobs of its own if all its lines are jobs of other batches. Such a batch is listed only by name
  /// or with `includingEmpty`.
  /// - Throws: `JobQueueError.noSuchName` for a name that does not exist.
  package func batches(
    _ names: [String] = [], includingEmpty: Bool = false, unfinishedFirst: Bool = false, limit: Int
  ) async throws -> [BatchRow] {
    let rows: [BatchRow] = try await view(
      """
      SELECT to_json(v) FROM (
        SELECT b.*, extract(epoch FROM b.time_left) AS seconds_left FROM haul.batches b
        WHERE b.batch = ANY ($1) OR $1::text[] IS NULL AND ($4 OR b.jobs > 0)
        ORDER BY $3 AND b.unfinished > 0 DESC, b.submitted_at DESC, b.batch LIMIT $2) v
      """, [names.isEmpty ? nil : names, limit, unfinishedFirst, includingEmpty])
    try await require("batch", names, among: rows.map(\.batch), limit)
    return rows
  }

  /// Returns at most `limit` groups of failed jobs with similar failures, latest hour first. Filters by the batch, error class
  /// and host of `selector` if given. Reads all failed jobs, or all jobs of the batch.
  package func failures(of selector: JobSelector = JobSelector(), limit: Int) async throws
    -> [FailureRow]
  {
    try await view(
      """
      SELECT to_json(v) FROM (
        SELECT f.* FROM haul.failures f WHERE $1::text IS NULL
          AND ($2::text IS NULL OR haul.has_class(f.error, $2)) AND ($3::text IS NULL OR f.host = $3)
        UNION ALL
        SELECT g.error, g.host, g.hour, g.jobs, (SELECT j.message FROM haul.jobs j WHERE j.job = g.first_job), g.first_job
        FROM (
          SELECT j.error, j.host, date_trunc('hour', j.finished_at) AS hour, count(*) AS jobs, min(j.job) AS first_job
          FROM haul.jobs j WHERE j.batch = $1 AND j.state = 'failed'
            AND ($2::text IS NULL OR haul.has_class(j.error, $2)) AND ($3::text IS NULL OR j.host = $3) GROUP BY 1, 2, 3) g
        ORDER BY hour DESC, jobs DESC, error, host LIMIT $4) v
      """, [selector.batch, selector.error?.rawValue, selector.host, limit])
  }

  /// Checks that the batch, queue, host and id in `selector` exist.
  /// - Throws: `JobQueueError.noSuchName` with similar names if one of them does not exist.
  package func requireNames(_ selector: JobSelector) async throws {
    do {
      try await rows("SELECT haul.check_selector($1::jsonb)", [try Self.json(selector)])
    } catch JobQueueError.noSuchName(let message, hint: nil, others: nil) {
      let given = [("batch", selector.batch), ("queue", selector.queue), ("host", selector.host)]
      for case (let kind, let name?) in given where message.hasSuffix("\(kind) \"\(name)\"") {
        throw try await noSuchName(message, hint: nil, kind, name)
      }
      throw JobQueueError.noSuchName(message, hint: nil)
    }
  }

  /// Runs `body`. If it throws because no `kind` has this name, adds similar names to the error.
  func naming<Result>(
    _ kind: String, _ name: String, _ body: () async throws -> Result
  ) async throws -> Result {
    do {
      return try await body()
    } catch JobQueueError.noSuchName(let message, let hint, others: nil) {
      throw try await noSuchName(message, hint: hint, kind, name)
    }
  }

  private func noSuchName(
    _ message: String, hint: String?, _ kind: String, _ name: String
  ) async throws -> JobQueueError {
    let names = try await names(kind, near: name)
    return .noSuchName(
      message, hint: hint, others: names.isEmpty ? nil : .init(given: name, names: names))
  }

  /// Throws `JobQueueError.noSuchName` for the first of `names` that does not exist. `listed` are the names that a query with
  /// this limit found. If the query reached the limit, no name is checked. `kind` is one of the kinds in
  /// ``names(_:startingWith:)``.
  private func require(
    _ kind: String, _ names: [String], among listed: [String], _ limit: Int?
  ) async throws {
    guard limit.map({ listed.count < $0 }) ?? true else { return }
    for name in names where !listed.contains(name) {
      if try await self.names(kind, startingWith: name).contains(name) { continue }
      let message =
        switch kind {
        case "worker": "there is no worker \(name)"
        case "policy": "there is no policy for \"\(name)\""
        case "listed host": "there is no host \"\(name)\""
        default: "there is no \(kind) \"\(name)\""
        }
      throw try await noSuchName(message, hint: nil, kind, name)
    }
  }

  /// Returns existing names similar to `name`: longer names that start with it, such as a host with a port, and names with the
  /// same first letter.
  package func names(_ kind: String, near name: String) async throws -> [String] {
    let names =
      try await names(kind, startingWith: name)
      + names(kind, startingWith: String(name.prefix(1)))
    return names.filter { $0 != name }
  }

  /// Returns at most 100 names of the kind `kind` that start with `prefix`. The kinds are `queue`, `store`, `batch`, `host`,
  /// `listed host`, `policy` and `worker`.
  package func names(_ kind: String, startingWith prefix: String) async throws -> [String] {
    try await rows("SELECT haul.names($1, $2)", [kind, prefix]).map { try $0.decode(0) }
  }

  /// Returns the time from now to `moment` by the database's clock. `moment` is in seconds since 1970. The result is negative
  /// if `moment` has passed.
  package func time(until moment: Double) async throws -> Duration {
    let seconds: Double = try await call(
      "SELECT extract(epoch FROM to_timestamp($1) - clock_timestamp())", [moment])
    return .seconds(seconds)
  }

  func view<Row: Decodable>(
    _ sql: String, _ parameters: [(any PostgresEncodable)?]
  ) async throws -> [Row] {
    let decoder = JSONDecoder()
    decoder.keyDecodingStrategy = .convertFromSnakeCase
    return try await rows(sql, parameters).map { row in
      let text: String = try row.decode(0)
      return try decoder.decode(Row.self, from: Data(text.utf8))
    }
  }
}
