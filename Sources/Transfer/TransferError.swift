/// Why a transfer ended without a result: a class that programs decide by, and a sentence for people.
///
/// The sentence never holds credentials: URLs in it are redacted.
public struct TransferError: Error, Sendable, Equatable, CustomStringConvertible {
  /// What kind of trouble it was. The raw value is the word used in the database and in logs.
  public enum Class: String, Sendable, CaseIterable {
    /// The host's name could not be resolved.
    case dns
    /// No connection, or it was refused.
    case connect
    /// The TLS handshake or the certificate check failed.
    case tls
    /// No answer, or fewer bytes a second than the floor, for too long.
    case timeout
    /// The connection broke, or the body ended early, again and again without progress.
    case interrupted
    /// A 4xx answer that asking again will not change.
    case http4xx = "http_4xx"
    /// 5xx, 408 or 425: the server's own trouble with this resource.
    case http5xx = "http_5xx"
    /// 429, or 503 with Retry-After: the host asks for less.
    case rateLimited = "rate_limited"
    /// The answer breaks HTTP: unsolicited 206, conflicting lengths, a body where none may be.
    case `protocol`
    /// Range answers that contradict themselves even after starting again.
    case range
    /// The source was replaced again and again while it was read.
    case sourceChanged = "source_changed"
    /// A page in HTML where a file used to be, such as a log-in form.
    case suspectPage = "suspect_page"
    /// The bytes do not have the digest the job demands.
    case digest
    /// More bytes than the job allows.
    case tooLarge = "too_large"
    /// The body had no length and nothing else proved it complete.
    case unverifiedLength = "unverified_length"
    /// The address is private, loopback or link-local, and not allowed.
    case blockedAddress = "blocked_address"
    /// The URL, or a redirect's, has a scheme that is not allowed or cannot be parsed.
    case blockedURL = "blocked_url"
    /// More redirects than the limit.
    case redirects
    /// A file stands under the final name and the collision policy is `fail`.
    case exists
    /// A directory stands where the file should be, or a file where a directory should be.
    case pathConflict = "path_conflict"
    /// The file system is full, or a quota is.
    case diskFull = "disk_full"
    /// Reading or writing a local file failed.
    case io
    /// Cancelled by whoever asked for it.
    case cancelled
  }

  /// What programs decide by.
  public var errorClass: Class
  /// One sentence for a person: what happened and, where there is something to do, what.
  public var message: String
  /// The answer's status code, where there was an answer.
  public var status: Int?
  /// How long the server asks to wait (RFC 9110 §10.2.3), counted from the answer's arrival.
  public var retryAfter: Duration?
  /// The host that answered or failed to, as `name` or `name:port`; differs from the URL's after a redirect.
  public var host: String?

  /// An error made of its parts.
  public init(
    _ errorClass: Class, _ message: String, status: Int? = nil, retryAfter: Duration? = nil,
    host: String? = nil
  ) {
    self.errorClass = errorClass
    self.message = message
    self.status = status
    self.retryAfter = retryAfter
    self.host = host
  }

  /// The sentence, led by its class: `digest: the file's sha-256 is …`.
  public var description: String { "\(errorClass.rawValue): \(message)" }
}
