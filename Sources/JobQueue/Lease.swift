package import JobModel

/// The file that a job downloaded earlier and now asks its source for again. The file stays until a new one replaces it.
package struct EarlierFile: Sendable, Decodable, Equatable {
  /// The path where the file was published, below the store's root.
  package let path: String
  /// The file's length in bytes when it was published.
  package let bytes: Int64?
  /// The digest of the file, if one was verified or recorded.
  package let digest: String?
  /// The transfer's own record of what the source said about the file; nil if there is none.
  package let source: [String: String]?
}

/// A worker's time-limited right to a job, with all data that the worker needs to run it.
package struct Lease: Sendable, Decodable, Equatable {
  package let job: Int64
  /// The fencing token. It is greater than the token of any earlier lease, and every later write carries it.
  package let token: Int64
  package let queue: String
  package let batch: String?
  /// The name of the store that gets the file.
  package let store: String
  /// The store instance that this worker mounts.
  package let instance: Int
  package let url: String
  /// The host whose limits the job counts against: `name` or `name:port`.
  package let host: String
  /// The path of the finished file, below the store's root.
  package let path: String
  package let options: JobOptions
  /// The number of the lease: 1 for the job's first lease.
  package let attempt: Int
  /// The transfer's record of durable progress as JSON; nil if no earlier lease wrote one.
  package let resume: String?
  /// The store instance that holds the part file of ``resume``; nil if there is no record.
  package let resumeInstance: Int?
  /// The token of the lease that wrote ``resume``; nil if there is no record.
  package let resumeToken: Int64?
  /// The final name that an earlier lease was about to give the part file.
  package let intent: String?
  /// True while the host is known to answer range requests wrongly for files of this directory.
  package let rangeUnsafe: Bool?
  /// The finished file of a completed job that asks its source again.
  package let earlier: EarlierFile?
  /// The number of consecutive failures of the host; nil if it has answered lately. Negative if it has not answered yet, or
  /// was silent only once.
  package let hostFailures: Int?
  /// The number of times that the source changed during earlier attempts.
  package let changes: Int?
  /// True if an earlier attempt may have ended without a report from its worker. That attempt may have published the file.
  package let rescued: Bool?
}

/// The end of a lease as its worker sees it. The database decides what the end means for the job.
package struct LeaseEnding: Sendable, Encodable, Equatable {
  /// The result of the lease. `released`: the worker gave the job up gracefully because of a drain, cancel or pause, or
  /// because the job cannot continue on this worker.
  package enum Result: String, Sendable, Encodable { case completed, failed, released }

  package var job: Int64
  package var token: Int64
  package var result: Result
  /// The error class of a failure.
  package var error: ErrorClass?
  package var message: String?
  /// The HTTP status of the last response.
  package var status: Int?
  /// The delay that the server asked for, in seconds.
  package var retryAfter: Double?
  /// The host that answered or failed to answer, if it is not the job's own host.
  package var host: String?
  /// The length of the finished file in bytes.
  package var bytes: Int64?
  /// True if the job counts as completed because its file existed already and the policy is `skip`. The database ignores it.
  package var isSkipped: Bool?
  /// True if the job asked for the source's time but the source sent none. The database ignores it.
  package var isUndated: Bool?
  /// The path of the finished file below the store's root. If the job failed, the path that the file would have got.
  package var path: String?
  /// The job's path, if `path` is missing or differs because a server or a policy named the file. The database ignores it.
  package var jobPath: String?
  package var digest: String?
  /// The transfer's own record of what the source said about the file.
  package var source: [String: String]?
  /// Bytes received over the network in this attempt.
  package var fetched: Int64?
  /// The offset in bytes at which this attempt resumed; 0 = from the start.
  package var resumedAt: Int64?
  /// True if the download could not resume where an earlier attempt had stopped. The database ignores it.
  package var isAnew: Bool?
  /// The number of times that the source changed during this attempt.
  package var changes: Int?
  /// True if the server answered a range request wrongly.
  package var rangeUnsafe: Bool?

  /// Creates an ending in which all other values are unknown.
  package init(job: Int64, token: Int64, result: Result) {
    self.job = job
    self.token = token
    self.result = result
  }
}
