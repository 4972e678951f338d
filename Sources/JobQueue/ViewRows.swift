package import JobModel

// Rows of the views, as `JobQueue+Views` reads them. The columns are described in Sources/Schema/Views.
// Times are RFC 3339 texts by the database's clock. Ages and durations are in seconds.

/// A row of the view `haul.jobs`: one job with its state and progress.
package struct JobRow: Sendable, Decodable, Equatable {
  package let job: Int64
  package let state: JobState?
  package let queue: String
  package let batch: String?
  package let host: String
  package let priority: Int
  package let path: String
  /// The current URL of the job. Values of signing parameters are hidden.
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
  /// The options of the job, in addition to its URL and path; nil in rows that a search has found (`JobQueue.find`).
  package let options: [String: JobOption.Value]?
  /// The name of the store that holds the file. It is known even after the queue has been deleted.
  package let store: String
  /// The media type of the finished file, from the header Content-Type; nil if there is none.
  package let mediaType: String?
}

/// A row of the view `haul.attempts`: one lease of a job and its result.
package struct AttemptRow: Sendable, Decodable, Equatable {
  package let attempt: Int
  package let token: Int64
  package let worker: Int64
  package let machine: String?
  package let result: AttemptResult
  package let charged: Bool
  package let startedAt: String
  /// The time when the attempt ended; nil for a running attempt.
  package let endedAt: String?
  /// The duration of the attempt in seconds. For a running attempt, the time from its start to now.
  package let seconds: Double
  package let resumedAt: Int64
  package let fetched: Int64
  package let durable: Int64
  package let changes: Int
  package let status: Int?
  package let error: ErrorClass?
  package let message: String?
}

/// A row of the view `haul.workers`: one worker with its state and stores.
package struct WorkerRow: Sendable, Decodable, Equatable {
  package let worker: Int64
  package let machine: String
  package let pid: Int
  package let version: String
  package let state: WorkerState
  package let running: Int
  package let concurrency: Int
  /// The current download rate in bytes per second.
  package let rate: Int64
  package let stores: [String]?
  package let registeredAt: String
  package let heartbeatAt: String
  /// The time at which the leases of the worker expire and the worker counts as dead, unless another heartbeat arrives.
  package let expiresAt: String
  /// The time in seconds since the last heartbeat.
  package let silence: Double
  /// The stores that the worker cannot write to, with the reasons; nil if there are none.
  package let trouble: String?
  /// The names of the queues that the worker claims from; nil for all queues of its stores.
  package let queues: [String]?
  /// The URL schemes that the worker downloads; nil if it has not reported them.
  package let schemes: [String]?
  /// The networks that the worker may connect to, in addition to public addresses; nil if it has not reported them.
  package let networks: [String]?

  /// The worker in messages, such as `worker 45 (host-a, pid 1234)`.
  package var name: String { "worker \(worker) (\(machine), pid \(pid))" }
}

/// A row of the view `haul.queues`: one queue with its settings and counts of jobs.
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
  /// The current download rate in bytes per second.
  package let rate: Int64
  /// The number of live workers that mount the queue's store and claim from this queue.
  package let workers: Int
  /// The maximum number of the queue's jobs that run at the same time; nil for no limit.
  package let maxRunning: Int?
  package let weight: Int
  /// The default options of jobs in this queue. A job's own options take precedence.
  package let defaults: [String: JobOption.Value]
  /// How long completed jobs are kept after they have ended, in seconds; nil for ever.
  package let keepCompleted: Double?
  package let keepFailed: Double?
  package let keepCancelled: Double?
  /// How long the pool remembers the path of a completed job, in seconds from the end of the job; nil for ever.
  package let keepKnown: Double?
}

/// A row of the view `haul.stores`: one instance of a store. Each instance is a directory of its own.
package struct StoreRow: Sendable, Decodable, Equatable {
  package let store: String
  package let instance: Int
  package let machine: String
  package let root: String
  /// The number of live workers that use this directory of the store.
  package let workers: Int
  /// The id in the marker file of the directory: a UUID in lower case.
  package let marker: String
  package let createdAt: String
  /// The time of the last verification of the files in this directory; nil if they were never verified.
  package let verifiedAt: String?
}

/// A row of the view `haul.policies`: the limits that were set for one host or pattern.
package struct PolicyRow: Sendable, Decodable, Equatable {
  package let pattern: String
  package let cap: Int
  package let hosts: Int
  /// The minimum time between the starts of two transfers, in seconds.
  package let interval: Double
  package let burst: Int
}

/// A row of the view `haul.hosts`: one host with its limits and counts of jobs.
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
  /// The reason why the host is blocked: an error class, or `operator`; nil if it is not blocked.
  package let blockReason: String?
  package let policyCap: Int
  /// The minimum time between the starts of two transfers, in seconds.
  package let interval: Double
  package let burst: Int
  /// The number of paused jobs of the host, counted up to ``mostHeld``; nil from a database of an older version.
  package let held: Int64?

  /// The maximum number of paused jobs that are counted.
  package static let mostHeld = 1000
}

/// A row of the view `haul.batches`: one batch with its counts of jobs and its progress.
package struct BatchRow: Sendable, Decodable, Equatable {
  package let batch: String
  package let jobs: Int64
  package let completed: Int64
  package let failed: Int64
  package let cancelled: Int64
  /// The number of jobs that have not ended.
  package let unfinished: Int64
  package let running: Int64
  /// The number of bytes in the completed files, plus the downloaded bytes of running jobs.
  package let bytes: Int64
  /// The current download rate in bytes per second.
  package let rate: Int64
  /// The estimated time until the batch ends, in seconds; nil if it cannot be estimated, or if ``pausedQueue`` is not nil.
  package let secondsLeft: Double?
  package let submittedAt: String
  /// The operator's command, `cancel` or `pause`, that Haul is carrying out on the whole batch; nil if there is none.
  package let steering: String?
  /// The number of bytes in the completed files. It is a part of ``bytes``.
  package let completedBytes: Int64
  /// The number of downloaded bytes of waiting and paused jobs.
  package let waitingBytes: Int64
  /// The sum of the downloaded fractions of the files of all waiting and paused jobs. A complete file would add 1.
  package let waitingParts: Double
  /// The number of paused jobs, counted up to ``mostHeld``.
  package let held: Int64
  /// The queue of the batch's newest job, if that queue is paused; otherwise nil.
  package let pausedQueue: String?
  /// The sum of the downloaded fractions of the files of all running jobs. A file of unknown size adds 0.
  package let runningParts: Double

  /// Whether the unfinished jobs wait for an operator: none of them runs, and all are paused or their queue is paused.
  package var isPaused: Bool {
    unfinished > 0 && running == 0 && (isHeld || pausedQueue != nil)
  }

  /// Whether all unfinished jobs are paused individually. If ``mostHeld`` jobs are paused, all unfinished jobs count as paused,
  /// because the database does not count further.
  package var isHeld: Bool { running == 0 && held == min(unfinished, Self.mostHeld) }

  package static let mostHeld: Int64 = 1000

  /// The number of all downloaded bytes, including the bytes of waiting and paused jobs.
  package var allBytes: Int64 { bytes + waitingBytes }
}

/// A row of the view `haul.failures`: a group of failed jobs with similar failures.
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
  /// The error class of the counted jobs, if failed jobs are counted by class; otherwise nil.
  package let error: ErrorClass?
  package let jobs: Int
  /// The number of downloaded bytes of the counted jobs.
  package let bytes: Int64
  /// The sum of the downloaded fractions of the files of the counted jobs. A complete file adds 1. Nil if no size is
  /// known.
  package let parts: Double?
}

/// A row of the view `haul.running`, with the columns for a progress display.
package struct RunningRow: Sendable, Decodable, Equatable {
  package let job: Int64
  package let path: String
  package let bytes: Int64
  package let total: Int64?
  /// The current download rate in bytes per second.
  package let rate: Int64
}

/// The state of a queue, and the workers that serve it.
package struct QueueService: Sendable, Decodable, Equatable {
  /// The URLs that one live worker of the queue can download. A value is nil if the worker has not reported it.
  package struct Reach: Sendable, Decodable, Equatable {
    package let schemes: [String]?
    /// The networks that the worker may connect to, in addition to public addresses.
    package let networks: [String]?

    package init(schemes: [String]?, networks: [String]?) {
      self.schemes = schemes
      self.networks = networks
    }
  }

  package let store: String
  package let paused: Bool
  /// Whether a live worker mounts the queue's store, even if the worker claims only from other queues.
  package let mounted: Bool
  /// The URLs that the live workers of this queue can download. Workers with the same abilities are listed once.
  package let workers: [Reach]
  /// The directories of the queue's store that the database knows.
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

/// An example of a failed job for one error class.
package struct FailureExample: Sendable, Decodable, Equatable {
  package let error: ErrorClass?
  package let path: String
  package let message: String?
}
