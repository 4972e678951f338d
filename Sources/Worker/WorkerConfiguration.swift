package import HaulTransfer
package import JobModel
package import JobQueue
package import Postgres
package import Stores

/// The settings of a worker.
package struct WorkerConfiguration: Sendable {
  /// The libpq connection string or URI; empty for libpq's environment variables.
  package var conninfo: String
  /// The schema of the pool.
  package var schema = SchemaName.usual
  package var stores: [StoreMount]
  /// The queues to serve; nil for every queue whose store is mounted.
  package var queues: [String]?
  /// The maximum number of concurrent transfers.
  package var concurrency: Int
  /// The maximum number of jobs that the worker has claimed and not yet downloaded: running transfers and the jobs that come
  /// next. Each claimed job counts against the limit of the job's host, and no other worker can claim the job. Set this number
  /// above ``concurrency`` only if no other worker serves the same queues.
  package var leases: Int
  /// The address blocks that are allowed in addition to public addresses.
  package var allowedNetworks: [CIDR]
  /// The limit in bytes per second for all jobs together; nil for no limit. Several workers of one process may share it.
  package var rateLimit: RateLimit?
  /// Whether the origin of a job's URL may have any address. Redirects to other origins still follow `allowedNetworks`. Set
  /// this only for URLs that the user at this terminal has typed.
  package var allowsOwnOrigins = false
  /// The logins, cookies, proxies and other settings of the worker's requests.
  package var requests = RequestSettings()
  /// The command to run after each completed job; nil for none.
  package var onComplete: String?
  /// Called on a Swift thread when the worker is registered and is about to claim its first jobs.
  package var onStarted: (@Sendable () -> Void)?
  /// Called on a Swift thread with each lease that has ended, after the database has recorded the end.
  package var onSettled: (@Sendable (SettledLease) -> Void)?
  /// Called when the worker closes a store because the store is full, cannot be written or hangs. `reason` describes the
  /// problem. The worker claims no jobs for the store until the store works again.
  package var onStoreClosed: (@Sendable (_ store: String, _ reason: String) -> Void)?
  /// Whether to stop gracefully when the worker's queues have no queued, scheduled, interrupted or running job.
  package var exitWhenIdle: Bool
  /// Whether to compute and record the SHA-256 of each file, unless the job has another setting.
  package var recordsDigests = true
  /// Whether the worker writes its sign file into the stores' directories, to detect copied directories. This setting is meant
  /// for pools of several machines.
  package var signsStores = false
  /// The version of the program, for the database view `workers`.
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

/// A lease that has ended, and the resulting state of its job.
package struct SettledLease: Sendable {
  /// How the worker ended the lease. The `path` of this value is always set.
  package let ending: LeaseEnding
  /// The state of the job after the lease has ended.
  package let state: JobState
  /// The error class that decided the job's state; nil without an error. For a failed job, this class is the reason for the
  /// failure.
  package let cause: ErrorClass?
  /// The time until a scheduled job may start again; nil for other jobs.
  package let delay: Duration?
}

/// The state of one of this worker's transfers.
package struct RunningTransfer: Sendable {
  package let token: Int64
  /// The final path of the file, below the root of the store.
  package let path: String
  /// The number of bytes of the file that have arrived so far.
  package let bytes: Int64
  /// The length of the whole file in bytes; nil if it is not known.
  package let total: Int64?
  /// The number of bytes received over the network in this attempt.
  package let fetched: Int64
  /// The number of bytes that an earlier attempt saved in this store. This number does not change if the server then does not
  /// let Haul resume from these bytes.
  package let kept: Int64
  /// The number of times that the origin has replaced the file since the job began.
  package let changes: Int
  /// Whether Haul is downloading the file a second time to compare both copies, because the origin stated no length.
  package let isComparing: Bool
}
