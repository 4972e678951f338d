/// A server's demand to log in: an answer with status 401 (RFC 9110 §15.5.2).
public struct AuthenticationChallenge: Sendable, Hashable {
  /// The URL that was asked for; another than the download's own after a redirect.
  public var url: String
  /// `name` or `name:port` of the host that asks.
  public var host: String
  /// The values of the WWW-Authenticate fields, such as `Basic realm="files"`.
  public var schemes: [String]
  /// How many logins the host has refused before in this download.
  public var failures: Int

  /// A challenge made of its parts.
  public init(url: String, host: String, schemes: [String], failures: Int) {
    self.url = url
    self.host = host
    self.schemes = schemes
    self.failures = failures
  }
}
