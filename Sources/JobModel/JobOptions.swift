/// The options of a job, in addition to its URL and path. If a value is nil, the queue's default applies, then the worker's
/// default.
///
/// The keys in the database are the property names in snake case, as in ``JobOption``.
package struct JobOptions: Sendable, Codable, Equatable {
  /// The digest that the whole file must have, `sha-256=…` in hexadecimal or base64 (RFC 9530).
  package var digest: String?
  /// The length that the whole file must have, in bytes. The job fails if the file has another length.
  package var length: Int64?
  /// The action if a file with the final name exists: `fail`, `skip`, `replace` or `rename`.
  package var ifExists: String?
  /// The media type that the response must have, such as `application/zip` or `video/*`.
  package var expectType: String?
  /// The number of failed attempts after which the job fails for good. Attempts that failed because of the host or the worker
  /// do not count. Default: ``usualMaxAttempts``, which is 5.
  package var maxAttempts: Int?
  package static let usualMaxAttempts = 5
  /// The maximum size of the file in bytes. The job fails if the file is larger.
  package var maxBytes: Int64?
  /// The maximum download rate in bytes per second.
  package var maxRate: Int64?
  /// The maximum time in seconds that the job waits for a host with problems. The job then fails as `host_unreachable`.
  /// Default: one day.
  package var maxHostWait: Int?
  /// Whether to accept a response without a length even if nothing else confirms that the body is complete.
  package var acceptUnverifiedLength: Bool?
  /// Whether to compute and record the file's SHA-256, even if another digest is verified. Default: true, but false in `haul
  /// get`.
  package var recordDigest: Bool?
  /// Whether to give the file the name that the server sends.
  package var contentDisposition: Bool?
  /// Whether to give the file the modification time of the source.
  package var remoteTime: Bool?
  /// The maximum time in seconds for making a connection, including name lookup and TLS. Default: the worker's limit.
  package var connectTimeout: Int?
  /// The maximum time in seconds without data from the source. Default: the worker's limit.
  package var stallTimeout: Int?
  /// The request headers, each as `Name: value`. A job's own headers replace all headers of the submission.
  package var headers: [String]?
  /// Other URLs of the file. Haul tries them in this order if the job's own URL fails.
  package var mirrors: [String]?
  /// The name of a credential. The worker has the credential itself.
  package var credential: String?

  /// Creates options without any values.
  package init() {}
}
