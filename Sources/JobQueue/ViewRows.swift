package import JobModel

// Rows of the views, as `JobQueue+Views` reads them. The columns are described in Sources/Schema/Views.
// Moments are RFC 3339 texts of the database's clock; ages and spans are seconds.

/// A row of `haul.jobs`.
package struct JobRow: Sendable, Decodable, Equatable {
  package let job: Int64
  package let state: JobState?
  package let queue: String
  package let batch: String?
  package let host: String
  package let priority: Int
  package let path: String
  /// Values of signing parameters are blanked.
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
  /// What it asks for beyond URL and path.
  package let options: [String: JobOption.Value]?
  /// Where its file ends up, also where its queue has been deleted.
  package let store: String
  /// What the server called the finished file.
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
  /// nil for one that goes on, whose ``result`` is `running`.
  package let endedAt: String?
  /// From the beginning of the lease to its end, or to now.
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
  /// Bytes a second.
  package let rate: Int64
  package let stores: [String]?
  package let registeredAt: String
  package let heartbeatAt: String
  /// When it counts as dead unless another heartbeat arrives.
  package let expiresAt: String
  /// Seconds since the last heartbeat.
  package let silence: Double
  /// Stores that it cannot write to, and why.
  package let trouble: String?
  /// Names of the queues it claims from; nil for all of its stores.
  package let queues: [String]?
  /// Schemes of URLs that it fetches; nil where it has not said.
  package let schemes: [String]?
  /// Networks that it connects to besides public addresses; nil where it has not said.
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
  /// Paused jobs.
  package let held: Int64
  package let running: Int64
  /// Bytes a second.
  package let rate: Int64
  /// Live ones that mount its store.
  package let workers: Int
  /// How many may run at once; nil = any number.
  package let maxRunning: Int?
  package let weight: Int
  /// Options of jobs submitted without their own.
  package let defaults: [String: JobOption.Value]
}

/// A row of `haul.stores`: one instance.
package struct StoreRow: Sendable, Decodable, Equatable {
  package let store: String
  package let instance: Int
  package let machine: String
  package let root: String
  /// Live ones that mount it.
  package let workers: Int
  /// A UUID in lower case.
  package let marker: String
  package let createdAt: String
  /// When ``JobQueue/recordVerification(of:)`` was last called for it.
  package let verifiedAt: String?
}

/// A row of `haul.policies`.
package struct PolicyRow: Sendable, Decodable, Equatable {
  package let pattern: String
  package let cap: Int
  package let hosts: Int
  /// The least number of seconds between starts.
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
  /// An error class, or `operator`.
  package let blockReason: String?
  package let policyCap: Int
  /// The least number of seconds between starts.
  package let interval: Double
  package let burst: Int
  /// Its paused jobs, at most ``mostHeld``; nil from a database of an older version.
  package let held: Int64?

  /// The most paused jobs that are counted.
  package static let mostHeld = 1000
}

/// A row of `haul.batches`.
package struct BatchRow: Sendable, Decodable, Equatable {
  package let batch: String
  package let jobs: Int64
  package let completed: Int64
  package let failed: Int64
  package let cancelled: Int64
  /// Jobs that have not ended.
  package let unfinished: Int64
  package let running: Int64
  /// Size of the completed files and the downloaded bytes of running jobs.
  package let bytes: Int64
  /// Bytes a second.
  package let rate: Int64
  /// Seconds, where they can be known.
  package let secondsLeft: Double?
  package let submittedAt: String
  /// `cancel` or `pause` while that is being carried out.
  package let steering: String?
  /// The part of ``bytes`` that belongs to completed jobs.
  package let completedBytes: Int64
  /// The bytes so far of waiting and paused jobs.
  package let waitingBytes: Int64
  /// ``waitingBytes`` as fractions of whole files, added up.
  package let waitingParts: Double
  /// Paused jobs; no more than ``mostHeld`` are looked at.
  package let held: Int64
  /// The queue of its newest job, where that is paused.
  package let pausedQueue: String?
  /// Downloaded fractions of running files, added up. Files of unknown size count as 0.
  package let runningParts: Double

  /// Whether it has not ended, no job of it runs, and its queue is paused until an operator resumes it.
  package var isPaused: Bool {
    unfinished > 0 && running == 0 && (isHeld || pausedQueue != nil)
  }

  /// Whether all of it that has not ended is paused, job by job, as far as these are counted.
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

/// How many jobs are in one state.
package struct JobCount: Sendable, Decodable, Equatable {
  package let state: JobState?
  /// The error class of failed jobs, where they are counted by class.
  package let error: ErrorClass?
  package let jobs: Int
  /// Bytes of their files so far.
  package let bytes: Int64
  /// ``bytes`` as fractions of whole files, added up; nil where no length is known.
  package let parts: Double?
}

/// A row of `haul.running`, as far as progress needs it.
package struct RunningRow: Sendable, Decodable, Equatable {
  package let job: Int64
  package let path: String
  package let bytes: Int64
  package let total: Int64?
  /// Bytes a second.
  package let rate: Int64
}

/// Who serves a queue.
package struct QueueService: Sendable, Decodable, Equatable {
  /// What one of its live workers may fetch; nil where it has not said.
  package struct Reach: Sendable, Decodable, Equatable {
    package let schemes: [String]?
    /// Networks besides public addresses.
    package let networks: [String]?

    package init(schemes: [String]?, networks: [String]?) {
      self.schemes = schemes
      self.networks = networks
    }
  }

  package let store: String
  package let paused: Bool
  /// Whether live workers mount its store, whatever queues they claim from.
  package let mounted: Bool
  /// What live workers that claim from it can reach, each kind once.
  package let workers: [Reach]

  package init(store: String, paused: Bool, mounted: Bool, workers: [Reach]) {
    self.store = store
    self.paused = paused
    self.mounted = mounted
    self.workers = workers
  }
}

/// A failed job that stands for all of its error class.
package struct FailureExample: Sendable, Decodable, Equatable {
  package let error: ErrorClass?
  package let path: String
  package let message: String?
}
