import Arguments
import FoundationEssentials
import Glibc
import HaulSystem
import HaulTransfer
import Worker

/// The options that say where jobs' credentials are.
struct CredentialOptions: OptionGroup {
  static let title: String? = RequestOptions.title
  static let options: [Option<Self>] = [
    .value(
      "credentials", "<dir>", \.directory, environment: "HAUL_CREDENTIALS",
      "The directory with the credentials that jobs name. A job of 'haul submit --credential films' uses the file films in this directory."
    )
  ]

  var directory: String?
}

/// The options for the content and route of requests: credentials, cookies, proxies and certificates.
struct RequestOptions: OptionGroup {
  static let title: String? = "REQUEST OPTIONS"
  static let options: [Option<Self>] = [
    .value(
      "netrc", "<file>", \.netrc, environment: "HAUL_NETRC",
      """
      A file with a user and password for each host, for requests without a credential. It has the format of \
      ~/.netrc. An entry for http must name the port: 'machine HOST:80'. 'haul get' also uses entries without a \
      port, and the entry 'default', for the hosts of the URLs that you give.
      """
    ).from(.files),
    .value(
      "cookies", "<file>", \.cookies, environment: "HAUL_COOKIES",
      "A file with cookies in Netscape format. Haul sends each cookie to its own host, and does not change the file."
    ).from(.files),
    .value(
      "proxy", "<url>", \.proxy, environment: "HAUL_PROXY",
      """
      Connect only through this proxy: a URL with the scheme http, https, socks5 or socks5h, and with a port. \
      Put the user and password of the proxy into the file of --netrc. With a proxy, Haul blocks a private \
      address only if a URL contains that address, because the proxy resolves host names. Without this option 'haul get' \
      uses http_proxy, https_proxy, all_proxy and no_proxy.
      """),
    .value(
      "ca-file", "<file>", \.caFile, environment: "HAUL_CA_FILE",
      "Trust the certificates in this PEM file instead of the certificates of the system."
    ).from(.files),
    .values(
      "allow-scheme", "<scheme>", \.schemes, environment: "HAUL_ALLOW_SCHEME",
      "Also allow URLs with this scheme: ftp, ftps or sftp. Without this option, Haul refuses such URLs. You can repeat the option."
    ),
    .value(
      "known-hosts", "<file>", \.knownHosts, environment: "HAUL_KNOWN_HOSTS",
      "A file with the keys of the allowed sftp hosts, as ssh-keyscan prints them."
    ).from(.files),
    .value(
      "contact", "<mail|url>", \.contact, environment: "HAUL_CONTACT",
      "Tell servers how to reach you. Haul sends haul/\(Haul.version) (+CONTACT) as User-Agent."),
  ]

  var netrc: String?
  var cookies: String?
  /// The proxy as text; nil if none was given. It is not parsed yet, because an error about a proxy with a password must not
  /// repeat the password.
  var proxy: String?
  var caFile: String?
  var schemes: [FileScheme] = []
  var knownHosts: String?
  var contact: ContactArgument?

  /// Reads the files and returns the settings.
  ///
  /// - Throws: `SecretFile.Problem`; `ExitError` for a file without certificates.
  func settings(_ credentials: CredentialOptions = CredentialOptions()) throws -> RequestSettings {
    var settings = RequestSettings()
    settings.credentials = try credentials.directory.map { path throws(SecretFile.Problem) in
      try CredentialDirectory(path)
    }
    settings.netrc = try netrc.map { path throws(SecretFile.Problem) in try Netrc(path: path) }
    settings.cookies = try cookies.map { path throws(SecretFile.Problem) in
      let file = try CookieFile(path: path)
      Self.warn(of: file.badLines, in: path)
      return file
    }
    do throws(ProxyAddress.Problem) {
      if let proxy { settings.proxy = try ProxyAddress(proxy) }
    } catch {
      throw ExitError(.usage, "option '--proxy': \(error).")
    }
    if let caFile { try Self.requireCertificates(in: caFile) }
    settings.caFile = caFile
    settings.schemes = Set(schemes.map(\.argument))
    settings.knownHosts = try readableKnownHosts()
    settings.contact = contact?.argument
    return settings
  }

  /// Adds the proxies from the environment, unless an option sets a proxy.
  ///
  /// - Throws: `ExitError` for a variable that is not a proxy.
  func takeProxies(
    into settings: inout RequestSettings, from environment: [String: String]
  ) throws(ExitError) {
    guard proxy == nil else { return }
    do throws(ProxyRules.Problem) {
      settings.proxyRules = try ProxyRules(environment: environment)
    } catch {
      throw ExitError(.configuration, "\(error).")
    }
  }

  /// Prints which lines of a cookie file cannot be used. The other lines are used.
  private static func warn(of badLines: [Int], in path: String) {
    guard !badLines.isEmpty else { return }
    let more = badLines.count > 5 ? ["\(badLines.count - 5) more"] : []
    let shown = OneOf.listed(badLines.prefix(5).map { "\($0)" } + more, by: "and")
    let lines =
      badLines.count == 1
      ? "line \(shown), which is not a cookie" : "lines \(shown), which are not cookies"
    StandardStream.say("haul: \(path): ignored \(lines) in Netscape format\n")
  }

  /// Returns the file of known hosts if it is readable; nil if none was given. Throws if the file is unreadable, or if sftp is
  /// allowed without a file: sftp cannot connect without the servers' keys.
  private func readableKnownHosts() throws(ExitError) -> String? {
    guard let knownHosts else {
      if schemes.contains(.sftp) {
        throw ExitError(.usage, "--allow-scheme sftp also needs --known-hosts.")
      }
      return nil
    }
    try Self.requireReadable(knownHosts)
    return knownHosts
  }

  private static func requireReadable(_ path: String) throws(ExitError) {
    guard unsafe access(path, R_OK) != 0 else { return }
    throw ExitError(
      .configuration, "cannot read \(path): \(SystemError.reason(errno)).")
  }

  private static func requireCertificates(in path: String) throws(ExitError) {
    try requireReadable(path)
    guard let text = try? String(contentsOfFile: path, encoding: .utf8),
      text.contains("-----BEGIN CERTIFICATE-----")
        || text.contains("-----BEGIN TRUSTED CERTIFICATE-----")
    else { throw ExitError(.configuration, "\(path) contains no certificate in PEM format.") }
  }
}

/// A URL scheme that needs permission.
enum FileScheme: String, CaseIterable, OptionValue { case ftp, ftps, sftp }

/// The name of a credential.
struct CredentialArgument: OptionValue {
  static let expected =
    "the name of a credential: at most 63 letters, digits, '.', '_' and '-'"

  let argument: String

  init?(argument: String) {
    guard CredentialName.isOne(argument) else { return nil }
    self.argument = argument
  }
}

/// A mail address or a URL, without characters that would end the comment in User-Agent.
struct ContactArgument: OptionValue {
  static let expected = "a mail address or a URL"

  let argument: String

  init?(argument: String) {
    let isVisible = argument.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7f && !"()\\".utf8.contains($0) }
    guard isVisible, (3...200).contains(argument.utf8.count),
      argument.contains("@") || argument.contains("://")
    else { return nil }
    self.argument = argument
  }
}
