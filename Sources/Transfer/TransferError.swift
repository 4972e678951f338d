/// Why a transfer ended without a result: a class that programs decide by, and a sentence for people.
///
/// The sentence never holds credentials: URLs in it are redacted.
public struct TransferError: Error, Sendable, Equatable, CustomStringConvertible {
  /// What kind of trouble it was; ``explanation`` says what each means. The raw value is the word used in
  /// the database and in logs.
  public enum Class: String, Sendable, CaseIterable {
    case dns
    case connect
    case tls
    case timeout
    case interrupted
    case http4xx = "http_4xx"
    case http5xx = "http_5xx"
    case rateLimited = "rate_limited"
    case `protocol`
    case range
    case sourceChanged = "source_changed"
    case suspectPage = "suspect_page"
    case digest
    case tooLarge = "too_large"
    case unverifiedLength = "unverified_length"
    case blockedAddress = "blocked_address"
    case blockedURL = "blocked_url"
    case redirects
    case exists
    case pathConflict = "path_conflict"
    case diskFull = "disk_full"
    case io
    case openFiles = "open_files"
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
