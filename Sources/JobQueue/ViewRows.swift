package import JobModel

// Rows of the views, as `JobQueue+Views` reads them. The columns are described in Sources/Schema/Views.
// Times are RFC 3339 texts by the database's clock. Ages and durations are in seconds.

/// A row of `haul.jobs`.
package struct JobRow: Sendable, Decodable, Equatable {
  package let job: Int64
  package let state: JobState?
  package let queue: String
  package let batch: String?
  package let host: String
  package let priority: Int
  package let path: String
  /// The URL in use. Values of signing parameters are hidden.
  package let url: String
  package let submittedAt: String
  package let runAt: String?
  package let finishedAt: String?
  package let worker: Int64?
  package let token: Int64?
  package let bytes: Int64
  package let total: Int64?
  package let durable: Int64?
  package let digest: String?
  package let error: ErrorClass?
  package let message: String?
  package let lastError: ErrorClass?
  /// The job's options other than URL and path.
  package let options: [String: JobOption.Value]?
  /// The name of the store that holds the file, even if the queue has been deleted.
  package let store: String
  /// The Content-Type of the finished file.
  package let mediaType: String?
}

/// A row of `haul.attempts`.
package struct AttemptRow: Sendable, Decodable, Equatable {
  package let attempt: Int
  package let token: Int64
  package let worker: Int64
  package let machine: String?
  package let result: AttemptResult
  package let charged: Bool
  package let startedAt: String
  /// The end of the attempt; nil for a running attempt, whose ``result`` is `running`.
  package let endedAt: String?
  /// Seconds from the start of the lease to its end, or to now.
  package let seconds: Double
  package let resumedAt: Int64
  package let fetched: Int64
  package let durable: Int64
  package let changes: Int
  package let status: Int?
  package let error: ErrorClass?
  package let message: String?
}

/// A row of `haul.workers`.
package struct WorkerRow: Sendable, Decodable, Equatable {
  package let worker: Int64
  package let machine: String
  package let pid: Int
  package let version: String
  package let state: WorkerState
  package let running: Int
  package let concurrency: Int
  /// The current rate in bytes per second.
  package let rate: Int64
  package let stores: [String]?
  package let registeredAt: String
  package let heartbeatAt: String
  /// When the worker counts as dead, unless another heartbeat arrives.
  package let expiresAt: String
  /// Seconds since the last heartbeat.
  package let silence: Double
  /// The stores that the worker cannot write to, and the reasons.
  package let trouble: String?
  /// The names of the queues that the worker claims from; nil for all queues of its stores.
  package let queues: [String]?
  /// The URL schemes that the worker downloads; nil if it has not reported them.
  package let schemes: [String]?
  /// The networks that the worker connects to besides public addresses; nil if it has not reported them.
  package let networks: [String]?

  /// The worker's name in messages: `worker 45 (host-a, pid 1234)`.
  package var name: String { "worker \(worker) (\(machine), pid \(pid))" }
}

/// A row of `haul.queues`.
package struct QueueRow: Sendable, Decodable, Equatable {
  package let queue: String
  package let store: String
  package let paused: Bool
  package let queued: Int64
  package let interrupted: Int64
  package let scheduled: Int64
  /// The number of paused jobs.
  package let held: Int64
  package let running: Int64
  /// The current rate in bytes per second.
  package let rate: Int64
  /// The number of live workers that mount the queue's store and claim from this queue.
  package let workers: Int
  /// The maximum number of the queue's jobs that run at once; nil = no limit.
  package let maxRunning: Int?
  package let weight: Int
  /// Default options for submitted jobs that do not set their own.
  package let defaults: [String: JobOption.Value]
}

/// A row of `haul.stores`: one store instance.
package struct StoreRow: Sendable, Decodable, Equatable {
  package let store: String
  package let instance: Int
  package let machine: String
  package let root: String
  /// The number of live workers that mount this instance.
  package let workers: Int
  /// The id in the marker file of the directory: a UUID in lower case.
  package let marker: String
  package let createdAt: String
  /// The time of the last call of ``JobQueue/recordVerification(of:)`` for this instance; nil = never.
  package let verifiedAt: String?
}

/// A row of `haul.policies`.
package struct PolicyRow: Sendable, Decodable, Equatable {
  package let pattern: String
  package let cap: Int
  package let hosts: Int
  /// The minimum time between starts, in seconds.
  package let interval: Double
  package let burst: Int
}

/// A row of `haul.hosts`.
package struct HostRow: Sendable, Decodable, Equatable {
  package let host: String
  package let running: Int
  package let cap: Int
  package let waiting: Bool
  package let whyIdle: String?
  package let blockedUntil: String?
  package let failures: Int
  package let lastStart: String?
  package let rangeUnsafe: Bool?
  /// Why the host is blocked: an error class, or `operator`.
  package let blockReason: String?
  package let policyCap: Int
  /// The minimum time between starts, in seconds.
  package let interval: Double
  package let burst: Int
  /// The number of paused jobs of the host, counted up to ``mostHeld``; nil from a database of an older version.
  package let held: Int64?

  /// The maximum number of paused jobs that are counted.
  package static let mostHeld = 1000
}

/// A row of `haul.batches`.
package struct BatchRow: Sendable, Decodable, Equatable {
  package let batch: String
  package let jobs: Int64
  package let completed: Int64
  package let failed: Int64
  package let cancelled: Int64
  /// The number of jobs that have not ended.
  package let unfinished: Int64
  package let running: Int64
  /// The size of the completed files plus the downloaded bytes of running jobs.
  package let bytes: Int64
  /// The current rate in bytes per second.
  package let rate: Int64
  /// The estimated time left in seconds; nil if it cannot be estimated.
  package let secondsLeft: Double?
  package let submittedAt: String
  /// The operator's command `cancel` or `pause` on the whole batch while it is carried out.
  package let steering: String?
  /// The part of ``bytes`` that belongs to completed jobs.
  package let completedBytes: Int64
  /// The downloaded bytes of waiting and paused jobs.
  package let waitingBytes: Int64
  /// The downloaded fractions of the files of waiting and paused jobs, added up.
  package let waitingParts: Double
  /// The number of paused jobs, counted up to ``mostHeld``.
  package let held: Int64
  /// The queue of the batch's newest job if that queue is paused.
  package let pausedQueue: String?
  /// Downloaded fractions of running files, added up. Files of unknown size count as 0.
  package let runningParts: Double

  /// Whether jobs are left, none of them runs, and all are paused or their queue is paused: an operator has to resume it.
  package var isPaused: Bool {
    unfinished > 0 && running == 0 && (isHeld || pausedQueue != nil)
  }

  /// Whether all jobs that have not ended are paused individually. Beyond ``mostHeld`` jobs, the rest counts as paused.
  package var isHeld: Bool { running == 0 && held == min(unfinished, Self.mostHeld) }

  package static let mostHeld: Int64 = 1000

  /// All downloaded bytes, including those of jobs that no longer run.
  package var allBytes: Int64 { bytes + waitingBytes }
}

/// A row of `haul.failures`: jobs that failed alike.
package struct FailureRow: Sendable, Decodable, Equatable {
  package let error: ErrorClass?
  package let host: String
  package let hour: String
  package let jobs: Int64
  package let message: String?
  package let firstJob: Int64
}

/// The number of jobs in one state.
package struct JobCount: Sendable, Decodable, Equatable {
  package let state: JobState?
  /// The error class of failed jobs if they are counted by class.
  package let error: ErrorClass?
  package let jobs: Int
  /// The downloaded bytes of the files of these jobs.
  package let bytes: Int64
  /// The downloaded fractions of these files, added up; nil if no size is known.
  package let parts: Double?
}

/// A row of `haul.running` with the columns that progress needs.
package struct RunningRow: Sendable, Decodable, Equatable {
  package let job: Int64
  package let path: String
  package let bytes: Int64
  package let total: Int64?
  /// The current rate in bytes per second.
  package let rate: Int64
}

/// The workers that serve a queue, and the state of the queue.
package struct QueueService: Sendable, Decodable, Equatable {
  /// The URLs that a live worker of the queue may download; nil values if it has not reported them.
  package struct Reach: Sendable, Decodable, Equatable {
    package let schemes: [String]?
    /// The networks that the worker connects to besides public addresses.
    package let networks: [String]?

    package init(schemes: [String]?, networks: [String]?) {
      self.schemes = schemes
      self.networks = networks
    }
  }

  package let store: String
  package let paused: Bool
  /// Whether live workers mount the queue's store, even if they do not claim from this queue.
  package let mounted: Bool
  /// The URLs that the live workers of this queue may download. Each combination is listed once.
  package let workers: [Reach]
  /// The store's directories that the database knows.
  package let roots: [WorkerStart.Root]?

  package init(
    store: String, paused: Bool, mounted: Bool, workers: [Reach], roots: [WorkerStart.Root] = []
  ) {
    self.roots = roots
    self.store = store
    self.paused = paused
    self.mounted = mounted
    self.workers = workers
  }
}

/// One failed job as an example of its error class.
package struct FailureExample: Sendable, Decodable, Equatable {
  package let error: ErrorClass?
  package let path: String
  package let message: String?
}
