package import HaulTransfer

/// The logins, cookies, proxies and other settings for the requests of a worker.
package struct RequestSettings: Sendable {
  /// The directory of the credentials that jobs name; nil for none.
  package var credentials: CredentialDirectory?
  /// The user and password for each host; nil for none.
  package var netrc: Netrc?
  /// The cookies for each host; nil for none.
  package var cookies: CookieFile?
  /// The proxy for all connections; nil to use ``proxyRules``.
  package var proxy: ProxyAddress?
  /// The proxies from the environment variables, used if ``proxy`` is nil.
  package var proxyRules: ProxyRules?
  /// The PEM file of certificates to trust instead of the system's; nil for the system's certificates.
  package var caFile: String?
  /// The allowed URL schemes in addition to http and https: any of ftp, ftps and sftp.
  package var schemes: Set<String> = []
  /// The file of accepted host keys for sftp, in OpenSSH's `known_hosts` format; nil for none.
  package var knownHosts: String?
  /// A mail address or URL in the User-Agent field, with which server operators can contact the sender; nil for none.
  package var contact: String?

  /// Creates settings with no logins, cookies or proxies.
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
