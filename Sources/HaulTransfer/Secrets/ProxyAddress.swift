/// The address of a proxy, with an optional login.
public struct ProxyAddress: Sendable, Hashable {
  /// The supported schemes of proxies. With `socks5h`, the proxy resolves host names; with `socks5`, it does not.
  public static let schemes = ["http", "https", "socks5", "socks5h"]

  /// The proxy's URL, such as `http://proxy.example.org:3128`.
  public let url: String
  /// The proxy's host and port, such as `proxy.example.org:3128`. For a Unix domain socket, this is `localhost` and the path.
  public let host: String
  /// The user and password for the proxy itself; nil for none.
  public var login: Login?

  /// The reason why a text is not a proxy address. The description is a clause without a full stop and holds no password.
  public enum Problem: Error, Sendable, CustomStringConvertible {
    /// The text is not of the form `scheme://host:port`.
    case malformed
    /// The text holds a user or a password.
    case holdsPassword

    /// The problem, described as a clause without a full stop.
    public var description: String {
      switch self {
      case .malformed:
        "a proxy must have the form http://proxy.example.org:3128 or socks5h://127.0.0.1:1080, with a port"
      case .holdsPassword:
        "a proxy must not contain a user or password, which others may see: put them into a netrc file as 'machine HOST:PORT'"
      }
    }
  }

  /// Reads `scheme://host:port`. The text must not contain a login: set ``login`` instead.
  public init(_ text: String) throws(Problem) {
    let halves = text.split(separator: ":", maxSplits: 1)
    guard halves.count == 2, halves[1].hasPrefix("//"),
      Self.schemes.contains(halves[0].lowercased())
    else { throw .malformed }
    // The part after the scheme is parsed like an http URL.
    guard let url = try? WebURL("http:\(halves[1])") else { throw .malformed }
    if url.hasCredentials { throw .holdsPassword }
    let scheme = halves[0].lowercased()
    // The address is a Unix domain socket. (libcurl: CURLOPT_PROXY)
    if scheme.hasPrefix("socks5"), halves[1].hasPrefix("//localhost/"), url.path != "/",
      url.query == nil
    {
      host = "localhost\(url.path)"
      self.url = "\(scheme)://\(host)"
      return
    }
    guard url.path == "/", url.query == nil,
      halves[1].drop(while: { $0 == "/" }).prefix(while: { $0 != "/" }).last?.isNumber == true,
      halves[1].drop(while: { $0 == "/" }).contains(":")
    else { throw .malformed }
    host = "\(url.host):\(url.port)"
    self.url = "\(scheme)://\(host)"
  }

  /// Reads a proxy from the value of an environment variable; nil for any other text (curl(1), --proxy). The scheme may be
  /// missing; it is then http. The port may be missing; it is then 1080, or 443 for https. A user and a password are allowed.
  init?(environment text: String) {
    var text = text.contains("://") ? text[...] : "http://\(text)"
    guard let colon = text.firstRange(of: "://") else { return nil }
    let scheme = text[..<colon.lowerBound].lowercased()
    var rest = text[colon.upperBound...]
    if scheme.hasPrefix("http"), let slash = rest.firstIndex(of: "/") { rest = rest[..<slash] }
    var login: Login?
    if let at = rest.lastIndex(of: "@") {
      let parts = rest[..<at].split(separator: ":", maxSplits: 1).map(String.init)
      let (user, password) = (parts.first ?? "", parts.count > 1 ? parts[1] : "")
      login = Login(
        user: HeaderText.percentDecoded(user),
        password: HeaderText.percentDecoded(password))
      rest = rest[rest.index(after: at)...]
    }
    text = "\(scheme)://\(rest)"
    let plain =
      (try? Self(String(text))) ?? (try? Self("\(text):\(scheme == "https" ? 443 : 1080)"))
    guard let plain else { return nil }
    self = plain
    self.login = login
  }
}
