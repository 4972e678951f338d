/// A pattern for one origin, such as `https://example.org`, or for the origins of all subdomains, such as
/// `https://*.example.org:8443`.
package struct OriginPattern: Sendable, Hashable {
  private let scheme: String
  private let host: String
  private let port: Int
  private let isForSubdomains: Bool

  /// Reads a pattern; nil if the text is not a pattern.
  package init?(_ text: String) {
    guard let start = text.firstRange(of: "://") else { return nil }
    let rest = text[start.upperBound...]
    isForSubdomains = rest.hasPrefix("*.")
    let plain = text[..<start.upperBound] + (isForSubdomains ? rest.dropFirst(2) : rest)
    guard let url = try? WebURL(String(plain), schemes: WebURL.knownSchemes),
      !url.hasCredentials, url.path == "/",
      url.query == nil, !url.host.contains("*")
    else { return nil }
    (scheme, host, port) = (url.scheme, url.host, url.port)
  }

  package func contains(_ url: WebURL) -> Bool {
    let isHost = isForSubdomains ? url.host.hasSuffix(".\(host)") : url.host == host
    return url.scheme == scheme && url.port == port && isHost
  }
}
