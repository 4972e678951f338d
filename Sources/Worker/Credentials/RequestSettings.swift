package import HaulTransfer

/// Logins, cookies, proxies and other settings of a worker's requests.
package struct RequestSettings: Sendable {
  /// Directory of jobs' credentials; nil for none.
  package var credentials: CredentialDirectory?
  /// Users and passwords by host.
  package var netrc: Netrc?
  /// Cookies by host.
  package var cookies: CookieFile?
  /// The proxy of all connections.
  package var proxy: ProxyAddress?
  /// Proxies from the environment, used without ``proxy``.
  package var proxyRules: ProxyRules?
  /// Certificates to trust instead of the system's (PEM).
  package var caFile: String?
  /// Allowed schemes besides http and https: any of ftp, ftps and sftp.
  package var schemes: Set<String> = []
  /// Known host keys for sftp, in OpenSSH's format; nil for none.
  package var knownHosts: String?
  /// A mail address or URL that tells the operators of servers whose requests these are.
  package var contact: String?

  /// None of these.
  package init() {}

  func apply(to engine: inout Engine.Configuration, version: String) {
    engine.userAgent = "haul/\(version)" + (contact.map { " (+\($0))" } ?? "")
    engine.netrc = netrc
    engine.cookies = cookies
    engine.proxy = proxy
    engine.proxyRules = proxyRules
    engine.caFile = caFile
    engine.allowedSchemes.formUnion(schemes)
    engine.knownHosts = knownHosts
  }
}
