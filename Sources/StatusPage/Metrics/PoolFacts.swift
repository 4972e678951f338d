import JobModel
import JobQueue

/// Facts that are read often. The cost of reading them does not depend on the number of jobs.
struct LiveFacts: Sendable {
  /// The database and its server, in the form that people read.
  var pool: String
  var totals: PoolTotals
  var workerCounts: [WorkerCount]
  /// The live workers.
  var workers: [WorkerRow]
  /// The jobs that have been running longest, at most ``mostRunning``.
  var running: [RunningJob]
  /// The minutes in which jobs ended. They cover at least the last hour.
  var minutes: [EndedInMinute]

  static let mostRunning = 100
}

/// Facts that need rows to be counted. Counting takes longer if there are more jobs, so these facts are read less often.
struct CountedFacts: Sendable {
  var queues: [QueueRow]
  /// The oldest waiting job of each queue in which jobs wait.
  var oldestJobs: [OldestJob]
  var hostCounts: [HostCount]
  /// The busiest hosts, at most ``mostHosts``.
  var hosts: [HostRow]
  /// The unfinished batches, then the newest ones, at most ``mostBatches``.
  var batches: [BatchRow]
  var batchCount: Int64
  var attempts: [AttemptResultCount]
  var failures: [FailureClass]
  /// The age in seconds of the oldest transaction that prevents the removal of dead rows; nil if none is visible.
  var oldestSnapshot: Double?

  static let mostHosts = 25
  static let mostBatches = 12
}

extension LiveFacts {
  /// Reads the facts. `since` receives the database's time and returns the first minute to read.
  /// - Throws: also the errors of ``JobQueue/requireSchema()``.
  init(reading queue: JobQueue, since: @Sendable (Double) -> Double) async throws {
    try await queue.requireSchema()
    let totals = try await queue.totals()
    self.init(
      pool: queue.database, totals: totals, workerCounts: try await queue.workerCounts(),
      workers: try await queue.workers(includingGone: false),
      running: try await queue.runningJobs(limit: Self.mostRunning),
      minutes: try await queue.minutes(since: since(totals.now)))
  }
}

extension CountedFacts {
  init(reading queue: JobQueue) async throws {
    self.init(
      queues: try await queue.queues(), oldestJobs: try await queue.oldestJobs(),
      hostCounts: try await queue.hostCounts(),
      hosts: try await queue.hosts(limit: Self.mostHosts),
      batches: try await queue.batches(unfinishedFirst: true, limit: Self.mostBatches),
      batchCount: try await queue.batchCount(withJobs: true),
      attempts: try await queue.attemptResults(), failures: try await queue.failureClasses(),
      oldestSnapshot: try await queue.oldestSnapshot()?.seconds)
  }
}

/// Facts about the maintenance that a coordinator runs for the pool.
package struct LeaderFacts: Sendable, Equatable {
  package var isLeading: Bool
  /// The number of maintenance rounds that this process has begun.
  package var rounds: Int

  /// Creates the facts.
  package init(isLeading: Bool, rounds: Int) {
    self.isLeading = isLeading
    self.rounds = rounds
  }
}
