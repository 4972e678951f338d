/// The options of a job in addition to its URL and path. For a nil value, the default of the queue applies, then that of the
/// worker.
///
/// The keys in the database are the property names in snake case, as in ``JobOption``.
package struct JobOptions: Sendable, Codable, Equatable {
  /// The digest of the whole file, `sha-256=…` in hexadecimal or base64 (RFC 9530).
  package var digest: String?
  /// The complete length in bytes. The job fails if the file has another length.
  package var length: Int64?
  /// What to do if a file with the final name exists: `fail`, `skip`, `replace` or `rename`.
  package var ifExists: String?
  /// The media type that the response must have, such as `application/zip` or `video/*`.
  package var expectType: String?
  /// The maximum number of charged failures; the job then fails. Default: ``usualMaxAttempts``.
  package var maxAttempts: Int?
  package static let usualMaxAttempts = 5
  /// The maximum size of the file in bytes. The job fails if the file is larger.
  package var maxBytes: Int64?
  /// The maximum download rate in bytes per second.
  package var maxRate: Int64?
  /// The maximum time in seconds that the job waits for a host in trouble. It then fails as `host_unreachable`. Default: one
  /// day.
  package var maxHostWait: Int?
  /// Whether to accept a response without a length even if nothing else confirms that it is complete.
  package var acceptUnverifiedLength: Bool?
  /// Whether to compute and record the file's SHA-256, even if another digest is verified. Default: yes, but not in `haul
  /// get`.
  package var recordDigest: Bool?
  /// Whether to give the file the name that the server sends.
  package var contentDisposition: Bool?
  /// Whether to give the file the modification time of the source.
  package var remoteTime: Bool?
  /// The maximum time in seconds to connect, including name lookup and TLS. Default: the worker's own limit.
  package var connectTimeout: Int?
  /// The maximum time in seconds without data from the source. Default: the worker's own limit.
  package var stallTimeout: Int?
  /// The request headers, each as `Name: value`. The headers of a job replace those of its submission.
  package var headers: [String]?
  /// Other URLs of the same file. Haul tries them in this order if the job's own URL fails.
  package var mirrors: [String]?
  /// The name of a credential that the worker holds.
  package var credential: String?

  /// Creates options with no value set.
  package init() {}
}
