/// A proxy that connections go through.
public struct ProxyAddress: Sendable, Hashable {
  /// How the proxy is spoken to; of `socks5` and `socks5h` the second leaves names to the proxy.
  public static let schemes = ["http", "https", "socks5", "socks5h"]

  /// `http://proxy.example.org:3128`.
  public let url: String
  /// `proxy.example.org:3128`, always with the port.
  public let host: String
  /// The proxy's own user and password; nil for none.
  public var login: Login?

  /// Why a text is none. The description is a clause without its full stop that holds no password.
  public enum Problem: Error, Sendable, CustomStringConvertible {
    /// It is not written `scheme://host:port`.
    case malformed
    /// It holds a user or a password.
    case holdsPassword

    /// The clause.
    public var description: String {
      switch self {
      case .malformed:
        "a proxy is written such as http://proxy.example.org:3128 or socks5h://127.0.0.1:1080, with its port"
      case .holdsPassword:
        "a proxy's user and password do not belong where others may see them: a netrc file has them, under 'machine HOST:PORT'"
      }
    }
  }

  /// Reads `scheme://host:port`. The login is set apart: see ``login``.
  public init(_ text: String) throws(Problem) {
    let halves = text.split(separator: ":", maxSplits: 1)
    guard halves.count == 2, halves[1].hasPrefix("//"),
      Self.schemes.contains(halves[0].lowercased())
    else { throw .malformed }
    // What is behind the scheme is read as that of a web page.
    guard let url = try? WebURL("http:\(halves[1])") else { throw .malformed }
    if url.hasCredentials { throw .holdsPassword }
    let scheme = halves[0].lowercased()
    // A socket of the Unix domain. (libcurl: CURLOPT_PROXY)
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

  /// Reads a proxy as environment variables name it: the scheme may be missing, and the port, which is then 1080, or 443 over
  /// https; user and password may be there. nil for anything else. (curl(1), --proxy)
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
