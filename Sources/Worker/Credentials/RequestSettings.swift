package import HaulTransfer

/// What goes along with the requests of a worker, and the way they take.
package struct RequestSettings: Sendable {
  /// Where jobs' credentials are found; nil for none.
  package var credentials: CredentialDirectory?
  /// Users and passwords by host.
  package var netrc: Netrc?
  /// Cookies by host.
  package var cookies: CookieFile?
  /// What all connections go through.
  package var proxy: ProxyAddress?
  /// Without ``proxy``: what the environment says.
  package var proxyRules: ProxyRules?
  /// Certificates to trust instead of the system's (PEM).
  package var caFile: String?
  /// Schemes that are fetched besides http and https: of ftp, ftps and sftp.
  package var schemes: Set<String> = []
  /// The keys of hosts that sftp is spoken with, as OpenSSH has them; nil for none.
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
