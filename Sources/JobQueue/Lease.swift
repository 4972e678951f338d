package import JobModel

/// The file that a job downloaded earlier and now asks its source for again. The file stays until a new one replaces it.
package struct EarlierFile: Sendable, Decodable, Equatable {
  /// Where it was published, below the store's root.
  package let path: String
  /// The file's length in bytes when it was published.
  package let bytes: Int64?
  /// Where one was checked or recorded.
  package let digest: String?
  /// The transfer's own record of what the source said of it; nil where there is none.
  package let source: [String: String]?
}

/// A worker's time-limited right to a job, with all it needs to carry it out.
package struct Lease: Sendable, Decodable, Equatable {
  package let job: Int64
  /// Fencing token: larger than that of any earlier lease; each later write carries it.
  package let token: Int64
  package let queue: String
  package let batch: String?
  /// Name of the store where the file ends up.
  package let store: String
  /// The worker's own instance of that store.
  package let instance: Int
  package let url: String
  /// The origin the job counts against: `name` or `name:port`.
  package let host: String
  /// Final place below the store's root.
  package let path: String
  package let options: JobOptions
  /// 1 for the job's first lease.
  package let attempt: Int
  /// The transfer's own record of durable progress, as JSON, if an earlier lease left one.
  package let resume: String?
  /// The store instance that record's part file is in.
  package let resumeInstance: Int?
  /// The token under which that record was written.
  package let resumeToken: Int64?
  /// The final name an earlier lease was about to give the part file.
  package let intent: String?
  /// True while the host is known to answer range requests for files of this directory wrongly.
  package let rangeUnsafe: Bool?
  /// The file of a job that had completed and is asked for again.
  package let earlier: EarlierFile?
  /// Where the host has not answered lately: how often in a row it has failed; negative where it has not answered yet, or kept
  /// silent once.
  package let hostFailures: Int?
  /// How often the source has changed in earlier attempts.
  package let changes: Int?
  /// True where an earlier attempt may have ended without its worker's word, which may have published the file.
  package let rescued: Bool?
}

/// How a lease ends, as its worker sees it; what that means for the job is decided in the database.
package struct LeaseEnding: Sendable, Encodable, Equatable {
  /// `released`: given up gracefully, on drain, cancel, pause or because the job cannot continue here.
  package enum Result: String, Sendable, Encodable { case completed, failed, released }

  package var job: Int64
  package var token: Int64
  package var result: Result
  /// Error class of a failure.
  package var error: ErrorClass?
  package var message: String?
  /// HTTP status of the last answer.
  package var status: Int?
  /// Seconds the server asked to wait.
  package var retryAfter: Double?
  /// The host that answered or failed to, where it is not the job's own.
  package var host: String?
  /// Length of the finished file.
  package var bytes: Int64?
  /// True where it is completed by a file that stood there already, which the policy `skip` leaves as it is. Nothing
  /// in the database depends on it.
  package var isSkipped: Bool?
  /// True if the job asked for the source's time but the source sent none. The database ignores it.
  package var isUndated: Bool?
  /// Where the finished file stands, or would have, below the store's root.
  package var path: String?
  /// The path of the job, where `path` is missing or another: a server or a policy named the file. The database ignores it.
  package var jobPath: String?
  package var digest: String?
  /// The transfer's own record of what the source said of the file.
  package var source: [String: String]?
  /// Bytes received over the network in this attempt.
  package var fetched: Int64?
  /// The offset this attempt went on from; 0 = from the start.
  package var resumedAt: Int64?
  /// True if the download could not resume where an earlier attempt had stopped. Nothing in the database
  /// depends on it.
  package var isAnew: Bool?
  /// How often the source changed in this attempt.
  package var changes: Int?
  /// True where a range request was answered wrongly.
  package var rangeUnsafe: Bool?

  /// An ending with nothing else known of it.
  package init(job: Int64, token: Int64, result: Result) {
    self.job = job
    self.token = token
    self.result = result
  }
}
