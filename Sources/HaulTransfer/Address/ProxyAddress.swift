/// A proxy that all connections of an engine go through.
package struct ProxyAddress: Sendable, Hashable {
  /// How the proxy is spoken to; of `socks5` and `socks5h` the second leaves names to the proxy.
  package static let schemes = ["http", "https", "socks5", "socks5h"]

  /// `http://proxy.example.org:3128`.
  package let url: String
  /// `proxy.example.org:3128`, always with the port: the machine by which ``Netrc`` knows it.
  package let host: String

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
    guard url.path == "/", url.query == nil,
      halves[1].drop(while: { $0 == "/" }).prefix(while: { $0 != "/" }).last?.isNumber == true,
      halves[1].drop(while: { $0 == "/" }).contains(":")
    else { throw .malformed }
    host = "\(url.host):\(url.port)"
    self.url = "\(halves[0].lowercased())://\(host)"
  }
}
