package import JobModel

/// What `haul.register` gives a worker.
package struct Registration: Sendable, Decodable, Equatable {
  /// A store the worker mounts, as the database knows it.
  package struct Store: Sendable, Decodable, Equatable {
    package let store: String
    package let instance: Int
  }
  package let worker: Int64
  /// Every later call carries it; it is not kept in the database.
  package let secret: String
  /// Tells this database's part files from another's on the same store.
  package let pool: String
  package let stores: [Store]
}

/// What `haul.work` gives: what was settled and what was claimed.
package struct WorkReply: Sendable, Decodable, Equatable {
  /// What became of a job whose lease ended.
  package struct Settled: Sendable, Decodable, Equatable {
    package let job: Int64
    package let token: Int64
    /// The job's state now, in the words of the `jobs` view.
    package let state: JobState
    /// Seconds until a scheduled job may start again.
    package let delay: Double?
    /// The error class that counts; of a job that failed, why it did.
    package let cause: ErrorClass?
  }
  /// Endings whose token was live. An ending that is missing here and in ``later`` was stale and changed nothing.
  package let settled: [Settled]
  /// Tokens of endings that another session held up; nil from a database of an earlier version.
  package let later: [Int64]?
  package let claimed: [Lease]
  /// Something was due that another session had locked: worth asking again soon.
  package let contended: Bool
  /// Seconds until something known becomes due; nil when nothing waits for a time.
  package let wait: Double?
  /// The worker has been asked to drain.
  package let draining: Bool
}

/// What `haul.heartbeat` gives: how long the leases live and what is wanted of them.
package struct HeartbeatReply: Sendable, Decodable, Equatable {
  /// A lease of this worker, by job and token.
  package struct Held: Sendable, Codable, Hashable {
    package let job: Int64
    package let token: Int64

    /// The lease of `job` under `token`.
    package init(job: Int64, token: Int64) {
      self.job = job
      self.token = token
    }
  }
  /// `cancel` or `pause` for one lease.
  package struct Command: Sendable, Decodable, Equatable {
    package let job: Int64
    package let token: Int64
    package let command: String
  }
  /// Seconds the leases live, counted from the sending of the heartbeat.
  package let expiry: Double
  /// Tokens that are no lease any more.
  package let lost: [Int64]
  package let commands: [Command]
  /// Leases the worker does not list although it has seen the reply that gave them: to be released.
  package let unlisted: [Held]
  package let draining: Bool
  /// How many other live workers could take the same jobs; nil from a database of an earlier version.
  package let peers: Int?
}

/// A running job as a heartbeat reports it.
package struct Progress: Sendable, Encodable, Equatable {
  package var job: Int64
  package var token: Int64
  /// Bytes of the file so far.
  package var bytes: Int64
  /// Complete length, where known.
  package var total: Int64?
  /// Bytes a second, lately.
  package var rate: Int64
  /// True where it waits for a disk that hangs, and its host has perhaps not been asked yet.
  package var waitsForDisk: Bool?

  /// Progress made of its parts.
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

/// What a worker receives for the jobs of one queue and batch.
package struct ReceivedRate: Sendable, Encodable, Equatable {
  package var queue: String
  package var batch: String?
  /// Bytes a second, lately, with the transfers that have ended meanwhile.
  package var rate: Int64

  /// A rate made of its parts.
  package init(queue: String, batch: String?, rate: Int64) {
    self.queue = queue
    self.batch = batch
    self.rate = rate
  }
}

/// Durable progress of a job, to be recorded after the bytes have reached the disk.
package struct CheckpointRow: Sendable, Encodable, Equatable {
  package var job: Int64
  package var token: Int64
  /// The store instance that holds the part file.
  package var instance: Int
  /// PostgreSQL's int8multirange: `{[0,4096)}`.
  package var durable: String
  package var length: Int64?
  /// The transfer's own record, as JSON.
  package var resume: String
  /// The final name the part file is about to get.
  package var intent: String?

  /// A row made of its parts.
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

/// What `haul.rescue` did in one round.
package struct RescueReply: Sendable, Decodable, Equatable {
  /// A job taken back, and its state now.
  package struct Rescued: Sendable, Decodable, Equatable {
    package let job: Int64
    package let token: Int64
    package let state: JobState
    /// The error class that counts; `internal` of a job that the database has set aside.
    package let cause: ErrorClass?
  }
  /// True while nothing is rescued, after a gap between rounds or a restart of the server.
  package let grace: Bool
  package let rescued: [Rescued]
  package let workers: [Int64]
}

/// What a worker has done and found in a directory of a store.
package struct StoreSign: Sendable, Encodable, Equatable {
  let instance: Int
  let fresh: Bool
  let unseen: [Int64]

  /// A sign made of its parts; `unseen` are workers whose signs are missing.
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
  /// The age of its sign in seconds.
  package let age: Double
  /// Whether it does not find the caller's sign.
  package let misses: Bool
}
