package import JobModel

/// What metrics and the status page read: all of it by views, none of it taking a lock that a claim waits for.
///
/// Ages and spans are seconds, moments seconds since 1970, both by the database's clock.
extension JobQueue {
  /// Numbers of the whole pool; cheap however many jobs there are.
  package func totals() async throws -> PoolTotals {
    try await one(
      """
      SELECT to_json(v) FROM (
        SELECT t.*, extract(epoch FROM clock_timestamp() - t.leader_round_at) AS leader_round_age,
          extract(epoch FROM clock_timestamp()) AS now
        FROM haul.totals t) v
      """)
  }

  /// At most `limit` running jobs, those that began first.
  package func runningJobs(limit: Int) async throws -> [RunningJob] {
    try await view(
      """
      SELECT to_json(v) FROM (
        SELECT r.job, r.path, r.host, r.queue, r.batch, r.worker, r.machine, r.attempt, r.bytes, r.total, r.rate,
          extract(epoch FROM r.time_left) AS seconds_left, extract(epoch FROM clock_timestamp() - r.started_at) AS age,
          r.command
        FROM haul.running r ORDER BY r.started_at, r.job LIMIT $1) v
      """, [limit])
  }

  /// The minutes since then in which jobs ended, in their order.
  package func minutes(since moment: Double) async throws -> [EndedInMinute] {
    try await view(
      """
      SELECT to_json(v) FROM (
        SELECT extract(epoch FROM t.minute)::bigint AS minute, t.completed, t.failed, t.cancelled, t.bytes
        FROM haul.throughput t WHERE t.minute >= to_timestamp($1) ORDER BY t.minute) v
      """, [moment])
  }

  /// How many workers are in each state.
  package func workerCounts() async throws -> [WorkerCount] {
    try await view(
      """
      SELECT to_json(v) FROM (
        SELECT w.state, count(*) AS workers, coalesce(sum(w.concurrency), 0)::bigint AS concurrency,
          extract(epoch FROM clock_timestamp() - min(w.heartbeat_at)) AS silence
        FROM haul.workers w GROUP BY w.state) v
      """, [])
  }

  /// Number of hosts for each reason why no more jobs start. Reads every host.
  package func hostCounts() async throws -> [HostCount] {
    try await view(
      """
      SELECT to_json(v) FROM (
        SELECT h.why_idle, count(*) AS hosts, count(*) FILTER (WHERE h.waiting) AS waiting FROM haul.hosts h GROUP BY h.why_idle) v
      """, [])
  }

  /// Attempts that have ended, by how. Reads all of them.
  package func attemptResults() async throws -> [AttemptResultCount] {
    try await view("SELECT to_json(v) FROM (SELECT a.* FROM haul.attempt_results a) v", [])
  }

  /// Failed jobs by error class, the most frequent first. Reads all failed jobs.
  package func failureClasses() async throws -> [FailureClass] {
    try await view(
      """
      SELECT to_json(v) FROM (
        SELECT f.*, extract(epoch FROM clock_timestamp() - f.last_at) AS last_age
        FROM haul.failure_classes f ORDER BY f.jobs DESC, f.error) v
      """, [])
  }

  private func one<Row: Decodable>(_ sql: String) async throws -> Row {
    let rows: [Row] = try await view(sql, [])
    return rows[0]
  }
}

/// A row of `haul.totals`.
package struct PoolTotals: Sendable, Decodable, Equatable {
  package var jobs: Int64
  package var completed: Int64
  package var failed: Int64
  package var cancelled: Int64
  /// Jobs that have not ended.
  package var unfinished: Int64
  /// Lengths of the files of completed jobs.
  package var completedBytes: Int64
  package var running: Int64
  /// Bytes a second.
  package var rate: Int64
  /// Seconds since the last maintenance round of any leader; nil if there was none since the server started.
  package var leaderRoundAge: Double?
  package var now: Double
}

/// A row of `haul.running`, as the status page shows it.
package struct RunningJob: Sendable, Decodable, Equatable {
  package var job: Int64
  package var path: String
  package var host: String
  package var queue: String
  package var batch: String?
  package var worker: Int64
  package var machine: String
  package var attempt: Int
  package var bytes: Int64
  package var total: Int64?
  /// Bytes a second.
  package var rate: Int64
  package var secondsLeft: Double?
  /// Seconds since the lease began.
  package var age: Double
  /// `cancel` or `pause` while the worker has not done so yet.
  package var command: String?
}

/// A row of `haul.throughput`.
package struct EndedInMinute: Sendable, Decodable, Equatable {
  /// The minute's beginning, in seconds since 1970.
  package var minute: Int64
  package var completed: Int64
  package var failed: Int64
  package var cancelled: Int64
  /// Lengths of the files that were completed.
  package var bytes: Int64

  /// A minute made of its parts.
  package init(minute: Int64, completed: Int64, failed: Int64, cancelled: Int64, bytes: Int64) {
    self.minute = minute
    self.completed = completed
    self.failed = failed
    self.cancelled = cancelled
    self.bytes = bytes
  }
}

/// Rows of `haul.workers` that are in one state.
package struct WorkerCount: Sendable, Decodable, Equatable {
  package var state: WorkerState
  package var workers: Int64
  /// Jobs they may hold at once, together.
  package var concurrency: Int64
  /// Seconds since the oldest of their last heartbeats.
  package var silence: Double
}

extension [WorkerCount] {
  /// How many workers are in that state.
  package func workers(_ state: WorkerState) -> Int64 {
    first { $0.state == state }?.workers ?? 0
  }
}

/// Hosts of `haul.hosts` with the same reason why no more jobs start.
package struct HostCount: Sendable, Decodable, Equatable {
  /// nil: something may start.
  package var whyIdle: String?
  package var hosts: Int64
  /// How many of these hosts have waiting jobs.
  package var waiting: Int64
}

/// A row of `haul.attempt_results`.
package struct AttemptResultCount: Sendable, Decodable, Equatable {
  package var result: AttemptResult
  package var attempts: Int64
  /// Bytes received over the network.
  package var fetched: Int64
  /// The released or rescued attempts whose job another worker took over.
  package var takenOver: Int64
}

/// A row of `haul.failure_classes`.
package struct FailureClass: Sendable, Decodable, Equatable {
  package var error: ErrorClass?
  package var jobs: Int64
  package var lastJob: Int64
  package var lastHost: String
  package var lastMessage: String?
  /// Seconds since it failed.
  package var lastAge: Double
}
