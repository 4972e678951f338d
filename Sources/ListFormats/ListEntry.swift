/// One job as a list names it; everything but the URL is optional in every format. Nothing of it is checked here but
/// that a number is one.
package struct ListEntry: Sendable, Equatable {
  /// Where the entry starts in its list, counted from 1.
  package var line: Int
  package var url: String
  /// Where the file goes below the store; nil for `DefaultPath`.
  package var path: String?
  /// The directory below the store of a file that has no path but its own name.
  package var directory: String?
  /// The digest of the whole representation, `sha-256=…` in the spelling of RFC 9530, in hexadecimal or base64.
  package var digest: String?
  /// The complete length in bytes.
  package var length: Int64?
  /// 0 (first) to 9.
  package var priority: Int?
  /// `fail`, `skip`, `replace` or `rename`.
  package var ifExists: String?
  package var maxAttempts: Int?
  /// Bytes above which the job fails.
  package var maxBytes: Int64?
  /// Bytes a second.
  package var maxRate: Int64?
  /// Seconds.
  package var maxHostWait: Int?
  package var acceptUnverifiedLength: Bool?
  package var recordDigest: Bool?
  package var remoteTime: Bool?
  /// Seconds.
  package var connectTimeout: Int?
  /// Seconds.
  package var stallTimeout: Int?
  /// Each `Name: value`.
  package var headers: [String]?
  package var credential: String?

  /// An entry with what nearly every format says of it.
  package init(
    line: Int, url: String, path: String? = nil, digest: String? = nil, length: Int64? = nil
  ) {
    self.line = line
    self.url = url
    self.path = path
    self.digest = digest
    self.length = length
  }
}
