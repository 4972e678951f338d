package import HaulTransfer
package import JobModel
package import JobQueue
package import Stores

/// Settings of a worker.
package struct WorkerConfiguration: Sendable {
  /// libpq's string or URI; empty = libpq's environment.
  package var conninfo: String
  package var stores: [StoreMount]
  /// nil = every queue whose store is mounted.
  package var queues: [String]?
  /// Transfers at once.
  package var concurrency: Int
  /// Jobs held at once, beside those that are being published: those in transfer, and some that are next. Each counts against
  /// its host's cap, and no other worker can have it: more than ``concurrency`` is for a worker that is alone with its queues.
  package var leases: Int
  /// Blocks of addresses allowed besides the public ones.
  package var allowedNetworks: [CIDR]
  /// The most bytes a second that are read of all jobs together; may be shared with other workers of the process.
  package var rateLimit: RateLimit?
  /// A job's own origin may have any address; redirects to other origins still fall under `allowedNetworks`. For
  /// URLs that the person at this terminal has typed.
  package var allowsOwnOrigins = false
  /// What goes along with its requests, and the way they take.
  package var requests = RequestSettings()
  /// What is run after each job that has completed; nil for nothing.
  package var onComplete: String?
  /// Called with each lease that was settled, on a Swift thread.
  package var onSettled: (@Sendable (SettledLease) -> Void)?
  /// Called when a store is closed: it is full, cannot be written or hangs, as the sentence says. Nothing is claimed for it until it is
  /// well again.
  package var onStoreClosed: (@Sendable (_ store: String, _ reason: String) -> Void)?
  /// Stop gracefully when no job is queued, scheduled, interrupted or running in the queues.
  package var exitWhenIdle: Bool
  /// Whether the SHA-256 of each file is computed and recorded, unless the job says otherwise.
  package var recordsDigests = true
  /// Whether it leaves its sign in the stores' directories, so that copies of them are found out. For pools of several
  /// machines.
  package var signsStores = false
  /// The program's version, shown in the `workers` view.
  package var version: String

  /// A configuration made of its parts.
  package init(
    conninfo: String, stores: [StoreMount], queues: [String]? = nil, concurrency: Int = 16,
    leases: Int? = nil, allowedNetworks: [CIDR] = [], exitWhenIdle: Bool = false, version: String
  ) {
    self.conninfo = conninfo
    self.stores = stores
    self.queues = queues
    self.concurrency = concurrency
    self.leases = leases ?? concurrency
    self.allowedNetworks = allowedNetworks
    self.exitWhenIdle = exitWhenIdle
    self.version = version
  }
}

/// A lease that has ended, and what became of its job.
package struct SettledLease: Sendable {
  /// The ending as the worker saw it; `path` is there whatever the result.
  package let ending: LeaseEnding
  /// The job's state now.
  package let state: JobState
  /// The error class that counts; of a job that failed, why it did.
  package let cause: ErrorClass?
  /// How long a scheduled job waits before it may start again.
  package let delay: Duration?
}

/// A transfer of this worker as it stands.
package struct RunningTransfer: Sendable {
  package let token: Int64
  /// Where its file will end up, below the store's root.
  package let path: String
  /// Bytes of the file so far.
  package let bytes: Int64
  /// Complete length in bytes, where known.
  package let total: Int64?
  /// Bytes received over the network in this attempt.
  package let fetched: Int64
  /// Bytes of the file that an earlier attempt has left here, whether or not the origin goes on after them.
  package let kept: Int64
  /// How often the origin has put another file in its place since the job began.
  package let changes: Int
  /// Whether the file is there and is fetched once more, only to be compared: its origin gave no length.
  package let isComparing: Bool
}
