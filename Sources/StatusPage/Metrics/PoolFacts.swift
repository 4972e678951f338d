import JobModel
import JobQueue

/// What is read often: cheap however many jobs there are.
struct LiveFacts: Sendable {
  /// The database and its server, for people.
  var pool: String
  var totals: PoolTotals
  var workerCounts: [WorkerCount]
  /// The workers that neither stopped nor died.
  var workers: [WorkerRow]
  /// The jobs that have run the longest, at most ``mostRunning``.
  var running: [RunningJob]
  /// The minutes of the last hour and more in which jobs ended.
  var minutes: [EndedInMinute]

  static let mostRunning = 100
}

/// What counts rows: the more jobs, the longer it takes, and the less often it is read.
struct CountedFacts: Sendable {
  var queues: [QueueRow]
  var hostCounts: [HostCount]
  /// The busiest, at most ``mostHosts``.
  var hosts: [HostRow]
  /// The batches that have not ended, then the newest, at most ``mostBatches``.
  var batches: [BatchRow]
  var batchCount: Int64
  var attempts: [AttemptResultCount]
  var failures: [FailureClass]
  /// How long the oldest transaction that keeps dead rows has run, in seconds; nil where there is none to see.
  var oldestSnapshot: Double?

  static let mostHosts = 25
  static let mostBatches = 12
}

extension LiveFacts {
  /// Reads them, the minutes from `since(now)` on, with the database's time.
  /// - Throws: also what ``JobQueue/requireSchema()`` does.
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
      queues: try await queue.queues(), hostCounts: try await queue.hostCounts(),
      hosts: try await queue.hosts(limit: Self.mostHosts),
      batches: try await queue.batches(unfinishedFirst: true, limit: Self.mostBatches),
      batchCount: try await queue.batchCount(withJobs: true),
      attempts: try await queue.attemptResults(), failures: try await queue.failureClasses(),
      oldestSnapshot: try await queue.databaseFacts().oldest?.seconds)
  }
}

/// What a coordinator knows of itself.
package struct LeaderFacts: Sendable, Equatable {
  package var isLeading: Bool
  /// Rounds of housekeeping since this process started.
  package var rounds: Int

  /// Facts made of their parts.
  package init(isLeading: Bool, rounds: Int) {
    self.isLeading = isLeading
    self.rounds = rounds
  }
}
