package import JobModel

/// Queries for the metrics and the status page. They only read views, and never delay workers that claim jobs.
///
/// Ages and durations are in seconds. Times are in seconds since 1970. The database's clock measures all of them.
extension JobQueue {
  /// Returns the totals of the whole pool. The time of the query does not depend on the number of jobs.
  package func totals() async throws -> PoolTotals {
    try await one(
      """
      SELECT to_json(v) FROM (
        SELECT t.*, extract(epoch FROM clock_timestamp() - t.leader_round_at) AS leader_round_age,
          extract(epoch FROM clock_timestamp()) AS now
        FROM haul.totals t) v
      """)
  }

  /// Returns at most `limit` running jobs, in the order of their starts.
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

  /// Returns a row for each minute since `moment` in which jobs ended, oldest first. `moment` is in seconds since 1970.
  package func minutes(since moment: Double) async throws -> [EndedInMinute] {
    try await view(
      """
      SELECT to_json(v) FROM (
        SELECT extract(epoch FROM t.minute)::bigint AS minute, t.completed, t.failed, t.cancelled, t.bytes
        FROM haul.throughput t WHERE t.minute >= to_timestamp($1) ORDER BY t.minute) v
      """, [moment])
  }

  /// Returns the number of workers in each state.
  package func workerCounts() async throws -> [WorkerCount] {
    try await view(
      """
      SELECT to_json(v) FROM (
        SELECT w.state, count(*) AS workers, coalesce(sum(w.concurrency), 0)::bigint AS concurrency,
          extract(epoch FROM clock_timestamp() - min(w.heartbeat_at)) AS silence
        FROM haul.workers w GROUP BY w.state) v
      """, [])
  }

  /// Returns the number of hosts for each reason why no more jobs start. Reads all hosts.
  package func hostCounts() async throws -> [HostCount] {
    try await view(
      """
      SELECT to_json(v) FROM (
        SELECT h.why_idle, count(*) AS hosts, count(*) FILTER (WHERE h.waiting) AS waiting FROM haul.hosts h GROUP BY h.why_idle) v
      """, [])
  }

  /// Returns how many attempts have ended with each result. Reads all attempts.
  package func attemptResults() async throws -> [AttemptResultCount] {
    try await view("SELECT to_json(v) FROM (SELECT a.* FROM haul.attempt_results a) v", [])
  }

  /// Returns the number of failed jobs for each error class, most frequent first. Reads all failed jobs.
  package func failureClasses() async throws -> [FailureClass] {
    try await view(
      """
      SELECT to_json(v) FROM (
        SELECT f.*, extract(epoch FROM clock_timestamp() - f.last_at) AS last_age
        FROM haul.failure_classes f ORDER BY f.jobs DESC, f.error) v
      """, [])
  }

  /// Returns the oldest waiting job of each queue in which jobs wait. Reads all hosts with waiting jobs, but few jobs.
  package func oldestJobs() async throws -> [OldestJob] {
    try await view(
      """
      SELECT to_json(v) FROM (
        SELECT o.queue, o.job, greatest(extract(epoch FROM clock_timestamp() - o.submitted_at), 0) AS age
        FROM haul.oldest_jobs o) v
      """, [])
  }

  private func one<Row: Decodable>(_ sql: String) async throws -> Row {
    let rows: [Row] = try await view(sql, [])
    return rows[0]
  }
}

/// A row of the view `haul.totals`: counts and sums of the whole pool.
package struct PoolTotals: Sendable, Decodable, Equatable {
  package var jobs: Int64
  package var completed: Int64
  package var failed: Int64
  package var cancelled: Int64
  /// The number of jobs that have not ended.
  package var unfinished: Int64
  /// The total size of the files of completed jobs, in bytes.
  package var completedBytes: Int64
  package var running: Int64
  /// The current download rate in bytes per second.
  package var rate: Int64
  /// The time in seconds since the last round of pool maintenance; nil if there was no round since the database server started.
  package var leaderRoundAge: Double?
  package var now: Double
}

/// A row of the view `haul.running`: a running job, with the columns for the status page.
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
  /// The current download rate in bytes per second.
  package var rate: Int64
  package var secondsLeft: Double?
  /// The time in seconds since the worker claimed the job.
  package var age: Double
  /// The operator's command for this job, `cancel` or `pause`, until the worker has carried out the command; nil if there is
  /// none.
  package var command: String?
}

/// A row of the view `haul.throughput`: the jobs that ended in one minute.
package struct EndedInMinute: Sendable, Decodable, Equatable {
  /// The start of the minute, in seconds since 1970.
  package var minute: Int64
  package var completed: Int64
  package var failed: Int64
  package var cancelled: Int64
  /// The total size of the files that were completed during ``minute``, in bytes.
  package var bytes: Int64

  /// Creates the row of a minute.
  package init(minute: Int64, completed: Int64, failed: Int64, cancelled: Int64, bytes: Int64) {
    self.minute = minute
    self.completed = completed
    self.failed = failed
    self.cancelled = cancelled
    self.bytes = bytes
  }
}

/// A row of the view `haul.oldest_jobs`: the oldest waiting job of one queue.
package struct OldestJob: Sendable, Decodable, Equatable {
  package var queue: String
  package var job: Int64
  /// The time in seconds since the job was submitted.
  package var age: Double
}

/// The number of workers in one state.
package struct WorkerCount: Sendable, Decodable, Equatable {
  package var state: WorkerState
  package var workers: Int64
  /// The total number of jobs that the workers in this state may run at the same time.
  package var concurrency: Int64
  /// The longest time in seconds since the last heartbeat of any worker in this state.
  package var silence: Double
}

extension [WorkerCount] {
  /// Returns how many workers are in the state `state`.
  package func workers(_ state: WorkerState) -> Int64 {
    first { $0.state == state }?.workers ?? 0
  }
}

/// The number of hosts that share one reason why no more jobs start.
package struct HostCount: Sendable, Decodable, Equatable {
  /// The reason why no more jobs start; nil if jobs may start.
  package var whyIdle: String?
  package var hosts: Int64
  /// The number of hosts with the reason ``whyIdle`` that have waiting jobs.
  package var waiting: Int64
}

/// A row of the view `haul.attempt_results`: the number of attempts that ended with one result.
package struct AttemptResultCount: Sendable, Decodable, Equatable {
  package var result: AttemptResult
  package var attempts: Int64
  /// The number of bytes that the attempts with this result received over the network.
  package var fetched: Int64
  /// The number of attempts with the result `released` or `rescued` after which another worker took over the job.
  package var takenOver: Int64
}

/// A row of the view `haul.failure_classes`: the failed jobs with one error class.
package struct FailureClass: Sendable, Decodable, Equatable {
  package var error: ErrorClass?
  package var jobs: Int64
  package var lastJob: Int64
  package var lastHost: String
  package var lastMessage: String?
  /// The time in seconds since the last job with this error class failed.
  package var lastAge: Double
}
