/// A server's request to log in: a response with status 401 (RFC 9110 §15.5.2).
public struct AuthenticationChallenge: Sendable, Hashable {
  /// The requested URL. After a redirect, this URL differs from the URL of the download.
  public var url: String
  /// The host that asks for the login, as `name` or `name:port`.
  public var host: String
  /// The values of the WWW-Authenticate fields, such as `Basic realm="files"`.
  public var schemes: [String]
  /// The number of logins that the host has already refused in this download.
  public var failures: Int

  /// Creates a challenge.
  public init(url: String, host: String, schemes: [String], failures: Int) {
    self.url = url
    self.host = host
    self.schemes = schemes
    self.failures = failures
  }
}
