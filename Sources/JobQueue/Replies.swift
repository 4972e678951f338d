package import JobModel

/// The reply of `haul.register` to a worker.
package struct Registration: Sendable, Decodable, Equatable {
  /// A store that the worker mounts, as the database knows it.
  package struct Store: Sendable, Decodable, Equatable {
    package let store: String
    package let instance: Int
  }
  package let worker: Int64
  /// The secret that every later call carries. The database does not store it.
  package let secret: String
  /// The id that distinguishes part files of this database from those of other databases in the same store.
  package let pool: String
  package let stores: [Store]
}

/// The reply of `haul.work`: the settled endings and the claimed jobs.
package struct WorkReply: Sendable, Decodable, Equatable {
  /// What happened to a job whose lease ended.
  package struct Settled: Sendable, Decodable, Equatable {
    package let job: Int64
    package let token: Int64
    /// The job's state now, as in the `jobs` view.
    package let state: JobState
    /// The time until a scheduled job may start again, in seconds.
    package let delay: Double?
    /// The error class that counts. For a failed job, the reason of the failure.
    package let cause: ErrorClass?
  }
  /// The endings whose token was live. An ending that is missing here and in ``later`` was stale and changed nothing.
  package let settled: [Settled]
  /// The tokens of endings that another session blocked; nil from a database of an earlier version.
  package let later: [Int64]?
  package let claimed: [Lease]
  /// Whether another session had locked due jobs. If so, the worker should soon ask again.
  package let contended: Bool
  /// The time until the next known job becomes due, in seconds; nil if no job waits for a time.
  package let wait: Double?
  /// Whether the worker was asked to drain.
  package let draining: Bool
}

/// The reply of `haul.heartbeat`: how long the leases live, and what the worker should do with them.
package struct HeartbeatReply: Sendable, Decodable, Equatable {
  /// A lease of this worker, by job and token.
  package struct Held: Sendable, Codable, Hashable {
    package let job: Int64
    package let token: Int64

    /// Creates a reference to the lease of `job` under `token`.
    package init(job: Int64, token: Int64) {
      self.job = job
      self.token = token
    }
  }
  /// An operator's command `cancel` or `pause` for one lease.
  package struct Command: Sendable, Decodable, Equatable {
    package let job: Int64
    package let token: Int64
    package let command: String
  }
  /// The lifetime of the leases in seconds, counted from the moment when the heartbeat was sent.
  package let expiry: Double
  /// The tokens of leases that the worker no longer has.
  package let lost: [Int64]
  package let commands: [Command]
  /// The leases that the worker did not list although it has read the reply that granted them. The worker should release them.
  package let unlisted: [Held]
  package let draining: Bool
  /// The number of other live workers that could take the same jobs; nil from a database of an earlier version.
  package let peers: Int?
}

/// The progress of a running job in a heartbeat.
package struct Progress: Sendable, Encodable, Equatable {
  package var job: Int64
  package var token: Int64
  /// The downloaded bytes of the file.
  package var bytes: Int64
  /// The complete length in bytes; nil = unknown.
  package var total: Int64?
  /// The current rate in bytes per second.
  package var rate: Int64
  /// True if the job waits for a disk that hangs. The job may not have sent a request to its host yet.
  package var waitsForDisk: Bool?

  /// Creates a progress report.
  package init(
    job: Int64, token: Int64, bytes: Int64, total: Int64?, rate: Int64, waitsForDisk: Bool? = nil
  ) {
    self.waitsForDisk = waitsForDisk
    self.job = job
    self.token = token
    self.bytes = bytes
    self.total = total
    self.rate = rate
  }
}

/// The download rate of a worker for the jobs of one queue and batch.
package struct ReceivedRate: Sendable, Encodable, Equatable {
  package var queue: String
  package var batch: String?
  /// The current rate in bytes per second, including transfers that have just ended.
  package var rate: Int64

  /// Creates a rate.
  package init(queue: String, batch: String?, rate: Int64) {
    self.queue = queue
    self.batch = batch
    self.rate = rate
  }
}

/// Durable progress of a job. It is recorded after the bytes have reached the disk.
package struct CheckpointRow: Sendable, Encodable, Equatable {
  package var job: Int64
  package var token: Int64
  /// The store instance that holds the part file.
  package var instance: Int
  /// The durable ranges as PostgreSQL's int8multirange, such as `{[0,4096)}`.
  package var durable: String
  package var length: Int64?
  /// The transfer's own record of its progress, as JSON.
  package var resume: String
  /// The final name that the part file is about to get.
  package var intent: String?

  /// Creates a row.
  package init(
    job: Int64, token: Int64, instance: Int, durable: String, length: Int64?, resume: String,
    intent: String? = nil
  ) {
    self.job = job
    self.token = token
    self.instance = instance
    self.durable = durable
    self.length = length
    self.resume = resume
    self.intent = intent
  }
}

/// The reply of `haul.rescue` after one round.
package struct RescueReply: Sendable, Decodable, Equatable {
  /// A job that was taken back, with its state now.
  package struct Rescued: Sendable, Decodable, Equatable {
    package let job: Int64
    package let token: Int64
    package let state: JobState
    /// The error class that counts. `internal` means that the database has set the job aside.
    package let cause: ErrorClass?
  }
  /// True while no jobs are rescued because of a gap between rounds or a restart of the server.
  package let grace: Bool
  package let rescued: [Rescued]
  package let workers: [Int64]
}

/// A worker's check of one store directory: whether it could write its sign, and whose signs it did not find.
package struct StoreSign: Sendable, Encodable, Equatable {
  let instance: Int
  let fresh: Bool
  let unseen: [Int64]

  /// Creates a sign. `fresh` means that the sign was just written; `unseen` are the workers whose signs are missing.
  package init(instance: Int, fresh: Bool, unseen: [Int64]) {
    self.instance = instance
    self.fresh = fresh
    self.unseen = unseen
  }
}

/// Another worker that has signed an instance of a store.
package struct StorePeer: Sendable, Decodable, Equatable {
  package let instance: Int
  package let worker: Int64
  package let machine: String
  /// The age of the peer's sign in seconds.
  package let age: Double
  /// Whether the peer does not find the caller's sign.
  package let misses: Bool
}
