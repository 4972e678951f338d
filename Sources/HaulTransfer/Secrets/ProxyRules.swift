/// Rules that choose a proxy, from environment variables, as in curl (curl(1), ENVIRONMENT).
///
/// For http, Haul uses `http_proxy`. For https, Haul uses `https_proxy` or `HTTPS_PROXY`. If these variables are not set, Haul
/// uses `all_proxy` or `ALL_PROXY`. Hosts in `no_proxy` or `NO_PROXY` have no proxy. Haul ignores `HTTP_PROXY`, because a web
/// server that runs a CGI program sets this variable from the Proxy field of a request.
package struct ProxyRules: Sendable, Hashable {
  private var proxies: [String: ProxyAddress] = [:]
  private let exceptions: [Substring]

  /// The reason why the value of a variable cannot be used.
  package struct Problem: Error, CustomStringConvertible {
    let variable: String
    /// The problem, described as a clause without a full stop. The text holds no password.
    package var description: String {
      "the environment variable \(variable) is not a valid proxy: write it like http://proxy.example.org:3128"
    }
  }

  /// Reads the rules from environment variables; nil if the variables name no proxy.
  package init?(environment: [String: String]) throws(Problem) {
    let all = ["all_proxy", "ALL_PROXY"]
    for (scheme, names) in [
      ("http", ["http_proxy"] + all), ("https", ["https_proxy", "HTTPS_PROXY"] + all),
    ] {
      // An empty variable means that there is no proxy.
      guard let name = names.first(where: { environment[$0] != nil }),
        let text = environment[name], !text.isEmpty
      else { continue }
      guard let proxy = ProxyAddress(environment: text) else { throw Problem(variable: name) }
      proxies[scheme] = proxy
    }
    if proxies.isEmpty { return nil }
    let list = environment["no_proxy"] ?? environment["NO_PROXY"] ?? ""
    exceptions = list.lowercased().split { $0 == "," || $0.isWhitespace }
  }

  /// Returns the proxy for a URL; nil if Haul connects to its host directly.
  func proxy(for url: WebURL) -> ProxyAddress? {
    guard let proxy = proxies[url.scheme], !exceptions.contains(where: { Self.covers($0, url) })
    else { return nil }
    return proxy
  }

  /// Returns whether an entry of `no_proxy` covers the URL's host. An entry is `*`, a domain with all hosts below it,
  /// an address, or a block of addresses.
  private static func covers(_ entry: Substring, _ url: WebURL) -> Bool {
    if entry == "*" { return true }
    var host = url.host.filter { $0 != "[" && $0 != "]" }[...]
    if host.hasSuffix(".") { host.removeLast() }
    var entry = entry
    if let address = IPAddress(String(host)) {
      let text = String(entry.filter { $0 != "[" && $0 != "]" })
      return CIDR(text)?.contains(address) == true
    }
    if let colon = entry.lastIndex(of: ":") {
      guard entry[colon...].dropFirst() == "\(url.port)" else { return false }
      entry = entry[..<colon]
    }
    if entry.hasPrefix("*.") { entry = entry.dropFirst() }
    if entry.hasPrefix(".") { entry = entry.dropFirst() }
    if entry.hasSuffix(".") { entry = entry.dropLast() }
    return !entry.isEmpty && (host == entry || host.hasSuffix(".\(entry)"))
  }
}
