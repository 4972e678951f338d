/// What a job asks for beyond its URL and path. An absent value leaves the choice to the queue, then to the worker.
///
/// The keys in the database are the names of the properties in snake case: those of ``JobOption``.
package struct JobOptions: Sendable, Codable, Equatable {
  /// The digest of the whole file, `sha-256=…` in hexadecimal or base64 (RFC 9530).
  package var digest: String?
  /// The complete length in bytes; a file of another length fails.
  package var length: Int64?
  /// What to do when a file stands under the final name: `fail`, `skip`, `replace` or `rename`.
  package var ifExists: String?
  /// The media type that the response must have, such as `application/zip` or `video/*`.
  package var expectType: String?
  /// The job fails after this many charged failures. Default: ``usualMaxAttempts``.
  package var maxAttempts: Int?
  package static let usualMaxAttempts = 5
  /// The job fails if its file is larger than this many bytes.
  package var maxBytes: Int64?
  /// At most this many bytes per second are read.
  package var maxRate: Int64?
  /// Seconds that the job waits for a host in trouble before it fails as `host_unreachable`. Default: one day.
  package var maxHostWait: Int?
  /// Accept a response without a length even if nothing else confirms that it is complete.
  package var acceptUnverifiedLength: Bool?
  /// Compute the file's SHA-256, even if another digest is checked, and record it with the outcome. Default: yes, but not in
  /// `haul get`.
  package var recordDigest: Bool?
  /// Give the file the name that the server sends with it.
  package var contentDisposition: Bool?
  /// Give the file the source's modification time.
  package var remoteTime: Bool?
  /// Seconds that making a connection may take, name lookup and TLS included. Default: the worker's own limit.
  package var connectTimeout: Int?
  /// Seconds that the source may send nothing. Default: the worker's own limit.
  package var stallTimeout: Int?
  /// Request headers, each `Name: value`. A job's own headers replace those of its submission.
  package var headers: [String]?
  /// Other URLs of the same file, tried in their order where the job's own fails.
  package var mirrors: [String]?
  /// The name of a credential that the worker holds.
  package var credential: String?

  /// No options.
  package init() {}
}
