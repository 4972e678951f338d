package import HaulTransfer
package import JobModel
package import JobQueue
package import Stores

/// Settings of a worker.
package struct WorkerConfiguration: Sendable {
  /// The connection string or URI for libpq; empty for libpq's environment variables.
  package var conninfo: String
  package var stores: [StoreMount]
  /// The queues to serve; nil for every queue whose store is mounted.
  package var queues: [String]?
  /// The number of concurrent transfers.
  package var concurrency: Int
  /// The number of jobs held at once, without those being published: the jobs in transfer and some that come next. Each held
  /// job counts against its host's limit, and no other worker can have it. Set it above ``concurrency`` only for a worker that
  /// is alone with its queues.
  package var leases: Int
  /// The blocks of addresses that are allowed in addition to public ones.
  package var allowedNetworks: [CIDR]
  /// The most bytes per second that all jobs together may receive; nil for no limit. Workers of one process may share it.
  package var rateLimit: RateLimit?
  /// Whether a job's own origin may have any address. Redirects to other origins still follow `allowedNetworks`. Set it only
  /// for URLs that the person at this terminal has typed.
  package var allowsOwnOrigins = false
  /// The logins, cookies, proxies and other settings of the worker's requests.
  package var requests = RequestSettings()
  /// The command to run after each completed job; nil for none.
  package var onComplete: String?
  /// Called with each settled lease, on a Swift thread.
  package var onSettled: (@Sendable (SettledLease) -> Void)?
  /// Called when a store is closed: it is full, cannot be written or hangs, as `reason` says. The worker claims nothing for it
  /// until it works again.
  package var onStoreClosed: (@Sendable (_ store: String, _ reason: String) -> Void)?
  /// Whether to stop gracefully when no job is queued, scheduled, interrupted or running in the queues.
  package var exitWhenIdle: Bool
  /// Whether to compute and record the SHA-256 of each file, unless the job says otherwise.
  package var recordsDigests = true
  /// Whether the worker leaves its sign in the stores' directories, so that copies of them are detected. Meant for pools of
  /// several machines.
  package var signsStores = false
  /// The program's version, shown in the `workers` view.
  package var version: String

  /// Creates a configuration.
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

/// A settled lease, and the resulting state of its job.
package struct SettledLease: Sendable {
  /// The ending as the worker saw it; `path` is always set.
  package let ending: LeaseEnding
  /// The job's state now.
  package let state: JobState
  /// The error class that counts. For a failed job, it is the reason.
  package let cause: ErrorClass?
  /// How long a scheduled job waits before it may start again.
  package let delay: Duration?
}

/// The state of one of this worker's transfers.
package struct RunningTransfer: Sendable {
  package let token: Int64
  /// The path that the file will get, below the store's root.
  package let path: String
  /// The number of bytes of the file so far.
  package let bytes: Int64
  /// The complete length in bytes, or nil if it is not known.
  package let total: Int64?
  /// The number of bytes received over the network in this attempt.
  package let fetched: Int64
  /// The number of bytes that an earlier attempt saved in this store, whether or not the origin lets Haul resume after them.
  package let kept: Int64
  /// The number of times that the origin has replaced the file since the job began.
  package let changes: Int
  /// Whether the complete file is downloaded a second time, only for comparison, because its origin gave no length.
  package let isComparing: Bool
}
