import JobModel
import Postgres

/// The part of a pool that a display shows: the whole pool, one queue or one batch.
package enum PoolPart: Sendable, Hashable {
  case all
  case queue(String)
  case batch(String)

  fileprivate var queue: String? { if case .queue(let name) = self { name } else { nil } }
  fileprivate var batch: String? { if case .batch(let name) = self { name } else { nil } }
}

/// The figures of a pool at one moment.
package struct PoolFigures: Sendable, Equatable {
  /// The number of running jobs in the displayed part of the pool.
  package var running: Int
  /// The rate in bytes per second at which workers download jobs of the displayed part of the pool.
  package var rate: Int64
  /// The number of jobs of the whole pool that have completed since ``PoolContext/minute``.
  package var completed: Int64
  /// The number of failures in the whole pool in the last hour. Jobs that were queued again after their failure count, too.
  package var failed: Int64
  /// The time of day in UTC by the database's clock, such as `15:04:05`.
  package var time: String

  package init(
    running: Int, rate: Int64, completed: Int64, failed: Int64, time: String
  ) {
    self.running = running
    self.rate = rate
    self.completed = completed
    self.failed = failed
    self.time = time
  }
}

/// The facts that stay the same while `haul top` runs: the database, the rights of the connected user, and the minute
/// where the count of completed jobs begins.
package struct PoolContext: Sendable, Decodable, Equatable {
  package var database: String
  /// The start of the minute where the count of completed jobs begins, in PostgreSQL's text form.
  package var minute: String
  package var may: DatabaseFacts.Rights

  package init(database: String, minute: String, may: DatabaseFacts.Rights) {
    self.database = database
    self.minute = minute
    self.may = may
  }
}

/// The kind of process that runs the pool's maintenance. Such a process is the leader of the pool.
package enum PoolLeader: String, Sendable {
  case coordinator, worker
  /// The process that runs the maintenance has an unknown application name.
  case other
}

/// A row of the view `haul.running`: a running job, with all columns that a display needs.
package struct TransferRow: Sendable, Equatable {
  package var job: Int64
  package var path: String
  package var bytes: Int64
  /// The length of the whole file in bytes; nil if it is not known.
  package var total: Int64?
  /// The current download rate in bytes per second.
  package var rate: Int64
  package var worker: Int64
  package var machine: String
  package var queue: String
  package var host: String
  package var batch: String?
  package var attempt: Int
  /// The number of bytes that survive if the worker crashes now; nil if there is no checkpoint.
  package var durable: Int64?
  /// The time in seconds since the worker claimed the job.
  package var seconds: Double
  /// The operator's command for this job, `cancel` or `pause`, until the worker has carried out the command; nil if there is
  /// none.
  package var command: String?
  /// The row of the job after the job has stopped running; nil while the job runs. Rows that were read from the view always
  /// have nil.
  package var ended: JobRow?

  package init(
    job: Int64, path: String, bytes: Int64, total: Int64?, rate: Int64, worker: Int64,
    machine: String,
    queue: String, host: String, batch: String?, attempt: Int, durable: Int64?, seconds: Double,
    command: String?
  ) {
    self.job = job
    self.path = path
    self.bytes = bytes
    self.total = total
    self.rate = rate
    self.worker = worker
    self.machine = machine
    self.queue = queue
    self.host = host
    self.batch = batch
    self.attempt = attempt
    self.durable = durable
    self.seconds = seconds
    self.command = command
  }
}

/// The number of workers of a pool that have not ended.
package struct PoolWorkers: Sendable, Equatable {
  package var count: Int
  /// The number of workers that have sent no heartbeat for 3 seconds or cannot write to a store.
  package var troubled: Int

  package init(count: Int, troubled: Int) {
    self.count = count
    self.troubled = troubled
  }

  package init(of rows: [WorkerRow]) {
    self.init(
      count: rows.count, troubled: rows.count { $0.trouble != nil || $0.state == .silent })
  }
}

/// The numbers of waiting jobs. Running and ended jobs do not count.
package struct PoolWaiting: Sendable, Equatable {
  /// The number of jobs that start without an operator's command. For a batch, this number includes paused jobs, unless all
  /// waiting jobs of the batch are paused.
  package var jobs: Int64 = 0
  /// The number of paused jobs, which start only after an operator's command.
  package var paused: Int64 = 0
  /// If the queues of all ``jobs`` are paused, the name of one of these queues; otherwise nil.
  package var pausedQueue: String?

  package init(jobs: Int64 = 0, paused: Int64 = 0, pausedQueue: String? = nil) {
    self.jobs = jobs
    self.paused = paused
    self.pausedQueue = pausedQueue
  }
}

/// Queries for a display that refreshes every second. Except for ``waiting(in:)``, the cost of a query grows only with the
/// number of running jobs.
extension JobQueue {
  /// Returns the database's name, the rights of this user, and the current minute.
  package func poolSince() async throws -> PoolContext {
    try await callJSON(
      """
      SELECT json_build_object('database', $1::text, 'minute', date_trunc('minute', now()), 'may', (\(Self.rights)))
      """, [connection.database])
  }

  /// Returns the figures of the pool. `running` and `rate` count only `part`; all other values count the whole pool.
  package func poolFigures(of part: PoolPart, since: PoolContext) async throws -> PoolFigures {
    let row = try await rows(
      """
      SELECT r.jobs, v.rate, t.completed, t.failed, to_char(now() AT TIME ZONE 'UTC', 'HH24:MI:SS')
      FROM (
        SELECT count(*) AS jobs FROM haul.running r
        WHERE ($1::text IS NULL OR r.queue = $1) AND ($2::text IS NULL OR r.batch = $2)) r
      CROSS JOIN (
        SELECT coalesce(sum(v.rate), 0)::bigint AS rate FROM haul.received v
        WHERE ($1::text IS NULL OR v.queue = $1) AND ($2::text IS NULL OR v.batch = $2)) v
      CROSS JOIN (
        SELECT coalesce(sum(t.completed) FILTER (WHERE t.minute >= $3::timestamptz), 0)::bigint AS completed,
          coalesce(sum(t.failed) FILTER (WHERE t.minute > now() - interval '1 hour'), 0)::bigint AS failed
        FROM haul.throughput t WHERE t.minute >= least($3::timestamptz, now() - interval '1 hour')) t
      """, [part.queue, part.batch, since.minute])[0]
    return PoolFigures(
      running: try row.decode(0), rate: try row.decode(1), completed: try row.decode(2),
      failed: try row.decode(3), time: try row.decode(4))
  }

  /// Returns the number of failures in the last hour. Jobs that were queued again after their failure count, too.
  package func failedLately() async throws -> Int64 {
    try await call(
      """
      SELECT coalesce(sum(t.failed), 0)::bigint FROM haul.throughput t WHERE t.minute > now() - interval '1 hour'
      """, [])
  }

  /// Returns the kind of process that runs the pool's maintenance; nil if no process runs it. The query finds the process by
  /// its lock session_lock(0) (see 20_register.sql).
  package func poolLeader() async throws -> PoolLeader? {
    let names = try await rows(
      """
      SELECT a.application_name FROM pg_locks l JOIN pg_stat_activity a ON a.pid = l.pid
      WHERE l.locktype = 'advisory' AND l.granted AND l.objsubid = 1
        AND l.classid = (haul.session_lock(0) >> 32)::oid AND l.objid = 0
        AND l.database = (SELECT d.oid FROM pg_database d WHERE d.datname = current_database())
      """, [])
    guard let name = try names.first?.decode(0, as: String?.self) else {
      return names.isEmpty ? nil : .other
    }
    switch name {
    case "haul-coordinator": return .coordinator
    case "haul-worker", "haul-worker-control": return .worker
    default: return .other
    }
  }

  /// Returns the number of waiting jobs of `part`. For a queue, the query counts rows; for a batch, it reads stored totals.
  package func waiting(in part: PoolPart) async throws -> PoolWaiting {
    if let batch = part.batch {
      guard let row = try await batches([batch], limit: 1).first else { return PoolWaiting() }
      let waiting = row.unfinished - row.running
      // The view counts paused jobs only up to `mostHeld`. If that many are paused and no job runs, all waiting jobs
      // count as paused.
      let isPaused =
        row.held == waiting || row.running == 0 && row.held == BatchRow.mostHeld
      return isPaused
        ? PoolWaiting(paused: waiting) : PoolWaiting(jobs: waiting, pausedQueue: row.pausedQueue)
    }
    let row = try await rows(
      """
      SELECT coalesce(sum(w.waiting), 0)::bigint, coalesce(sum(w.held), 0)::bigint,
        CASE WHEN bool_and(w.paused) FILTER (WHERE w.waiting > 0) THEN min(w.queue) FILTER (WHERE w.waiting > 0) END
      FROM (
        SELECT q.queue, q.paused, q.held, q.queued + q.interrupted + q.scheduled AS waiting FROM haul.queues q
        WHERE $1::text IS NULL OR q.queue = $1) w
      """, [part.queue])[0]
    return PoolWaiting(
      jobs: try row.decode(0), paused: try row.decode(1), pausedQueue: try row.decode(2))
  }

  /// Returns at most `limit` running jobs of `part`, longest-running first.
  package func transfers(of part: PoolPart, limit: Int) async throws -> [TransferRow] {
    let rows = try await rows(
      """
      SELECT r.job, r.path, r.bytes, r.total, r.rate, r.worker, r.machine, r.queue, r.host, r.batch, r.attempt,
        r.durable, extract(epoch FROM now() - r.started_at)::float8, r.command
      FROM haul.running r
      WHERE ($1::text IS NULL OR r.queue = $1) AND ($2::text IS NULL OR r.batch = $2)
      ORDER BY r.started_at, r.job LIMIT $3
      """, [part.queue, part.batch, limit])
    return try rows.map { row in
      TransferRow(
        job: try row.decode(0), path: try row.decode(1), bytes: try row.decode(2),
        total: try row.decode(3), rate: try row.decode(4), worker: try row.decode(5),
        machine: try row.decode(6), queue: try row.decode(7), host: try row.decode(8),
        batch: try row.decode(9), attempt: try row.decode(10), durable: try row.decode(11),
        seconds: try row.decode(12), command: try row.decode(13))
    }
  }
}
