package import JobModel

/// The reply of the SQL function `haul.register` to a worker.
package struct Registration: Sendable, Decodable, Equatable {
  /// A store that the worker mounts, as the database knows it.
  package struct Store: Sendable, Decodable, Equatable {
    package let store: String
    package let instance: Int
  }
  package let worker: Int64
  /// The secret that the worker must send with every later call. The database stores no copy of it.
  package let secret: String
  /// The pool's id. Several pools may keep part files in one store directory, and the id distinguishes the part files of this
  /// pool.
  package let pool: String
  package let stores: [Store]
}

/// The reply of the SQL function `haul.work`: the new states of jobs whose leases ended, and the jobs that the worker claimed.
package struct WorkReply: Sendable, Decodable, Equatable {
  /// The resulting state of a job whose lease has ended.
  package struct Settled: Sendable, Decodable, Equatable {
    package let job: Int64
    package let token: Int64
    /// The state of the job after the lease has ended, as in the view `haul.jobs`.
    package let state: JobState
    /// The time in seconds until a scheduled job may start again; nil for other jobs.
    package let delay: Double?
    /// The error class that decided the job's state; nil without an error. For a failed job, this class is the reason for the
    /// failure.
    package let cause: ErrorClass?
  }
  /// The jobs whose leases this call ended. If a reported lease is missing here and in ``later``, the lease had already
  /// expired, and the report changed nothing.
  package let settled: [Settled]
  /// The tokens of the reported leases that could not be ended yet because another session has locked their rows; nil from a
  /// database of an earlier version.
  package let later: [Int64]?
  package let claimed: [Lease]
  /// Whether another session had locked jobs that may start now. If so, the worker should call again soon.
  package let contended: Bool
  /// The time in seconds until the next scheduled job may start; nil if no job waits for a start time.
  package let wait: Double?
  /// Whether the worker was asked to drain: to claim no more jobs, and to give its running jobs to other workers.
  package let draining: Bool
}

/// The reply of the SQL function `haul.heartbeat`: how long the leases live, and what the worker should do with them.
package struct HeartbeatReply: Sendable, Decodable, Equatable {
  /// A lease of this worker, identified by job and token.
  package struct Held: Sendable, Codable, Hashable {
    package let job: Int64
    package let token: Int64

    /// Creates a reference to the lease of the job `job` with the token `token`.
    package init(job: Int64, token: Int64) {
      self.job = job
      self.token = token
    }
  }
  /// An operator's command for one lease: `cancel` or `pause`.
  package struct Command: Sendable, Decodable, Equatable {
    package let job: Int64
    package let token: Int64
    package let command: String
  }
  /// The lifetime of the leases in seconds, counted from the time when the worker sent the heartbeat.
  package let expiry: Double
  /// The tokens of leases that the worker no longer has.
  package let lost: [Int64]
  package let commands: [Command]
  /// The leases that the worker forgot: it has read the reply with these leases, but its heartbeat did not list them. The
  /// worker should give them back.
  package let unlisted: [Held]
  package let draining: Bool
  /// The number of other live workers that could run this worker's jobs; nil from a database of an earlier version.
  package let peers: Int?
}

/// The progress of a running job, which a heartbeat reports.
package struct Progress: Sendable, Encodable, Equatable {
  package var job: Int64
  package var token: Int64
  /// The number of downloaded bytes of the file.
  package var bytes: Int64
  /// The length of the whole file in bytes; nil if it is not known.
  package var total: Int64?
  /// The current download rate in bytes per second.
  package var rate: Int64
  /// True if the job waits for a disk that does not respond; otherwise nil. The job might not have sent a request to its host
  /// yet.
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
  /// The current download rate in bytes per second, including transfers that have just ended.
  package var rate: Int64

  /// Creates the rate for one queue and batch.
  package init(queue: String, batch: String?, rate: Int64) {
    self.queue = queue
    self.batch = batch
    self.rate = rate
  }
}

/// The durable progress of a job. A worker records it after the bytes have reached the disk.
package struct CheckpointRow: Sendable, Encodable, Equatable {
  package var job: Int64
  package var token: Int64
  /// The id of the store instance (one directory of a store) that holds the part file.
  package var instance: Int
  /// The durable byte ranges as an int8multirange of PostgreSQL, such as `{[0,4096)}`.
  package var durable: String
  package var length: Int64?
  /// The record from which a transfer can continue, as JSON.
  package var resume: String
  /// The final name that the worker is about to give the part file; nil if the worker is not about to publish the file.
  package var intent: String?

  /// Creates a row for one job.
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

/// The reply of the SQL function `haul.rescue` after one round of taking jobs back.
package struct RescueReply: Sendable, Decodable, Equatable {
  /// A job that was taken back from its worker, and the job's new state.
  package struct Rescued: Sendable, Decodable, Equatable {
    package let job: Int64
    package let token: Int64
    package let state: JobState
    /// The error class that decided the job's state; nil without an error. `internal` means that the database no longer starts
    /// the job.
    package let cause: ErrorClass?
  }
  /// Whether this round takes no jobs back. After a gap of more than 3 seconds between rounds, or a restart of the database
  /// server, workers get some time to send heartbeats again: at most the lifetime of one lease.
  package let grace: Bool
  package let rescued: [Rescued]
  package let workers: [Int64]
}

/// The result of a worker's check for a copied store directory. Each worker writes a small file, its sign, into the directory,
/// and looks for the signs of the other workers.
package struct StoreSign: Sendable, Encodable, Equatable {
  let instance: Int
  let fresh: Bool
  let unseen: [Int64]

  /// Creates the result of a check. `fresh` means that the worker has just written its sign. `unseen` are the workers whose
  /// signs the worker did not find.
  package init(instance: Int, fresh: Bool, unseen: [Int64]) {
    self.instance = instance
    self.fresh = fresh
    self.unseen = unseen
  }
}

/// Another worker that uses the same store directory, according to the database, and has written its sign (a small file) there.
package struct StorePeer: Sendable, Decodable, Equatable {
  package let instance: Int
  package let worker: Int64
  package let machine: String
  /// The time in seconds since the other worker wrote its sign.
  package let age: Double
  /// Whether the other worker did not find the sign of this worker.
  package let misses: Bool
}
