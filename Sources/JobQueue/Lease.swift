package import JobModel

/// The file that a job has already downloaded, if the job now asks its source for a newer version. The file stays until a new
/// one replaces it.
package struct EarlierFile: Sendable, Decodable, Equatable {
  /// The path of the published file, below the store's root.
  package let path: String
  /// The length of the file in bytes when it was published; nil if it is not known.
  package let bytes: Int64?
  /// The digest of the file, if one was verified or recorded; otherwise nil.
  package let digest: String?
  /// What the source's response said about the file, such as the entity tag and the length. A later request uses this record to
  /// ask whether the file has changed. Nil if there is no record.
  package let source: [String: String]?
}

/// The exclusive right of a worker to run a job for a limited time, with all data that the worker needs for the job.
package struct Lease: Sendable, Decodable, Equatable {
  package let job: Int64
  /// The token that identifies this lease in every later write of the worker (a fencing token). It is greater than the token of
  /// any earlier lease.
  package let token: Int64
  package let queue: String
  package let batch: String?
  /// The name of the store in which the file is published.
  package let store: String
  /// The id of the store instance (one directory of a store) that this worker mounts.
  package let instance: Int
  package let url: String
  /// The host whose limits apply to the job, as `name` or `name:port`.
  package let host: String
  /// The path of the finished file, below the store's root.
  package let path: String
  package let options: JobOptions
  /// The number of this lease of the job; the first lease has the number 1.
  package let attempt: Int
  /// The record of durable progress from an earlier lease, as JSON; nil if there is none.
  package let resume: String?
  /// The id of the store instance (one directory of a store) that holds the part file described by ``resume``; nil if
  /// ``resume`` is nil.
  package let resumeInstance: Int?
  /// The token of the lease that wrote ``resume``; nil if ``resume`` is nil.
  package let resumeToken: Int64?
  /// The final name that an earlier lease was about to give the part file; nil if no lease got that far.
  package let intent: String?
  /// Whether the host answers range requests wrongly for files in the URL's directory; nil if this is not known.
  package let rangeUnsafe: Bool?
  /// The file that the job has already downloaded, if the job asks its source for a newer version; otherwise nil.
  package let earlier: EarlierFile?
  /// The number of consecutive failures of the host; nil if there are none. -1 means that the host has never answered. -2
  /// means that a transfer got no first byte in time, and the host has not answered since then.
  package let hostFailures: Int?
  /// The number of times that the source changed during earlier attempts; nil counts as 0.
  package let changes: Int?
  /// Whether an earlier attempt may have ended without a report from its worker; nil counts as false. That attempt may have
  /// published the file.
  package let rescued: Bool?
}

/// The end of a lease as the worker reports it. The database decides what happens to the job.
package struct LeaseEnding: Sendable, Encodable, Equatable {
  /// The result of the lease. `released` means that the worker gave the job back gracefully: because of a drain, cancel or
  /// pause command, or because the job cannot continue on this worker.
  package enum Result: String, Sendable, Encodable { case completed, failed, released }

  package var job: Int64
  package var token: Int64
  package var result: Result
  /// The error class of a failure; nil without a failure.
  package var error: ErrorClass?
  package var message: String?
  /// The HTTP status of the last response; nil if there was none.
  package var status: Int?
  /// The delay in seconds that the server asked for; nil if it asked for none.
  package var retryAfter: Double?
  /// The host that answered or failed to answer; nil if it is the job's own host.
  package var host: String?
  /// The length of the finished file in bytes; nil if there is none.
  package var bytes: Int64?
  /// True if the job counts as completed without a download, because a file with the final name existed and the job's option
  /// `if_exists` is `skip`; otherwise nil. The database ignores this value.
  package var isSkipped: Bool?
  /// True if the job asked for the source's modification time but the source sent none; otherwise nil. The database ignores
  /// this value.
  package var isUndated: Bool?
  /// The path of the finished file below the store's root. For a failed job, the path that the file would have. Nil if
  /// the worker did not run the job, or stopped its transfer.
  package var path: String?
  /// The job's path. Set only if `path` is nil, or if `path` differs because the server or the option `if_exists` chose the
  /// name. The database ignores this value.
  package var jobPath: String?
  package var digest: String?
  /// What the source's response said about the file, such as the entity tag and the length. A later request uses this record to
  /// ask whether the file has changed. Nil if there is no record.
  package var source: [String: String]?
  /// The number of bytes that this attempt received over the network; nil if the worker did not run the job.
  package var fetched: Int64?
  /// The byte offset at which this attempt resumed; 0 if the attempt started from the first byte; nil if the worker did not
  /// run the job.
  package var resumedAt: Int64?
  /// True if the download could not resume an earlier attempt and started from the first byte; otherwise nil. The database
  /// ignores this value.
  package var isAnew: Bool?
  /// The number of times that the source changed during this attempt; nil if the worker did not run the job.
  package var changes: Int?
  /// True if the server answered a range request wrongly; otherwise nil.
  package var rangeUnsafe: Bool?

  /// Creates an ending with a job, a token and a result. All optional values are nil.
  package init(job: Int64, token: Int64, result: Result) {
    self.job = job
    self.token = token
    self.result = result
  }
}
