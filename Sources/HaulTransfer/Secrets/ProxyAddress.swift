/// A proxy that connections go through.
package struct ProxyAddress: Sendable, Hashable {
  /// How the proxy is spoken to; of `socks5` and `socks5h` the second leaves names to the proxy.
  package static let schemes = ["http", "https", "socks5", "socks5h"]

  /// `http://proxy.example.org:3128`.
  package let url: String
  /// `proxy.example.org:3128`, always with the port: the machine by which ``Netrc`` knows it.
  package let host: String
  /// User and password where the environment holds them; else ``Netrc`` may.
  private(set) var login: Login?

  /// Why a text is none. The description is a clause without its full stop that holds no password.
  package enum Problem: Error, Sendable, CustomStringConvertible {
    case malformed
    case holdsPassword

    package var description: String {
      switch self {
      case .malformed:
        "a proxy is written such as http://proxy.example.org:3128 or socks5h://127.0.0.1:1080, with its port"
      case .holdsPassword:
        "a proxy's user and password do not belong where others may see them: a netrc file has them, under 'machine HOST:PORT'"
      }
    }
  }

  package init(_ text: String) throws(Problem) {
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
