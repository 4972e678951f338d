public import FoundationEssentials

/// The reason why a transfer ended without a result: an error class for programs, and a sentence for people.
///
/// The sentence never holds credentials: URLs in the sentence are redacted.
public struct TransferError: Error, Sendable, Equatable, CustomStringConvertible {
  /// The kind of error.
  ///
  /// The description is the case's name in code, such as `http4xx`. The raw value, such as `http_4xx`, is the word in a
  /// pool's database and logs.
  public enum Class: String, Sendable, CaseIterable, CustomStringConvertible {
    /// The host's name could not be resolved.
    case dns
    /// The connection could not be made, or it was refused.
    case connect
    /// The TLS or SSH handshake, or the check of the certificate or host key, failed.
    case tls
    /// The server did not answer in time, or sent the body too slowly: see ``DownloaderConfiguration/responseTimeout``,
    /// ``DownloaderConfiguration/stallTime`` and ``DownloadOptions/timeout``.
    case timeout
    /// The connection broke or the body ended early. Haul reports this error if it cannot resume the download. Haul also
    /// reports this error after the connection has broken 8 times with less than 64 MiB received between breaks.
    case interrupted
    /// Status 403 without Retry-After: the server refuses to send this file.
    case http403 = "http_403"
    /// Status 404: the server does not have the file.
    case http404 = "http_404"
    /// Status 410: the server no longer has the file.
    case http410 = "http_410"
    /// A 4xx status other than 403, 404, 408, 410, 425 and 429, without Retry-After: the server does not send this file. Status
    /// 300 (several files to choose from) has this class, too.
    case http4xx = "http_4xx"
    /// Status 202, 408, 425 or 5xx, or another 4xx status with Retry-After: the server cannot send this file now. Exceptions:
    /// ``rateLimited`` and ``proxy``.
    case http5xx = "http_5xx"
    /// An FTP or SFTP server does not have the file, or does not send it.
    case noFile = "no_file"
    /// The host asks for fewer requests (RFC 6585 §4, RFC 9110 §15.6.4). An HTTP host sends one of these responses:
    /// - status 429
    /// - status 403 or 503, with Retry-After
    /// - status 403, with a header field that says that 0 requests are left
    ///
    /// An FTP host sends reply 421.
    case rateLimited = "rate_limited"
    /// The response violates HTTP, or the status means that the response carries no file: for example 204, or 201 after a GET.
    case `protocol`
    /// The body ended early, and the server cannot send only the rest of it.
    case range
    /// The file on the server changed several times during the download.
    case sourceChanged = "source_changed"
    /// The response looks like an error page or a login form instead of the expected file.
    case suspectPage = "suspect_page"
    /// The file does not have the expected digest.
    case digest
    /// The file does not have the expected length.
    case length
    /// The file is larger than the configured limit.
    case tooLarge = "too_large"
    /// The server gives no length, and nothing else proved that the file is complete.
    case unverifiedLength = "unverified_length"
    /// The host's address is private, loopback or link-local, and the address policy does not allow it.
    case blockedAddress = "blocked_address"
    /// The URL or a redirect target is invalid, has a scheme that is not allowed, or holds credentials.
    case blockedURL = "blocked_url"
    /// The job's credential is not allowed for the host of its URL.
    case blockedCredential = "blocked_credential"
    /// The job's credential is missing, or cannot be read or used.
    case credential
    /// An FTP or SFTP server requires a login, and none is configured.
    case noCredential = "no_credential"
    /// The proxy does not answer or refuses the connection, or a network on the way requires a login (status 511).
    case proxy
    /// The server redirects more than 10 times in a row.
    case redirects
    /// A file with the final name already exists.
    case exists
    /// A directory has the path of the file, the path names no file, or another download uses the file.
    case pathConflict = "path_conflict"
    /// The file system or a quota is full.
    case diskFull = "disk_full"
    /// Reading or writing a local file failed.
    case io
    /// This process has no permission to read or write a local file, or the file system is read-only.
    case notPermitted = "not_permitted"
    /// The process or the machine has reached its limit of open files.
    case openFiles = "open_files"
    /// A function of your program, such as ``DownloadOptions/validate`` or ``DownloadOptions/followRedirect``, refused the
    /// response or a redirect.
    case rejected
    /// The transfer was cancelled or paused.
    case cancelled

    /// The name of the case in code, such as `http4xx`.
    public var description: String {
      switch self {
      case .http4xx: "http4xx"
      case .http5xx: "http5xx"
      case .protocol: "protocol"
      default: Self.inCamelCase(rawValue)
      }
    }

    /// Returns the class for a 4xx status that refuses the file for good.
    static func refused(_ status: Int) -> Self {
      switch status {
      case 403: .http403
      case 404: .http404
      case 410: .http410
      default: .http4xx
      }
    }

    private static func inCamelCase(_ word: String) -> String {
      let parts = word.split(separator: "_")
      return parts.dropFirst().reduce(String(parts[0])) { text, part in
        text + (part == "url" ? "URL" : part.prefix(1).uppercased() + part.dropFirst())
      }
    }
  }

  /// The class of the error, for decisions in programs.
  public var errorClass: Class
  /// A sentence for a person that describes the error.
  public var message: String
  /// The setting that lets the download succeed; nil if no setting helps.
  public var remedy: Remedy?
  /// The status code of the response; nil if there was no response.
  public var status: Int?
  /// How long the server asks the client to wait after the response (RFC 9110 §10.2.3); nil if the server did not ask.
  public var retryAfter: Duration?
  /// The host that answered or failed to answer, as `name` or `name:port`. After a redirect, this host differs from the URL's
  /// host.
  public var host: String?

  /// The header fields of the response; empty if there was no response. The fields may hold secrets, such as cookies.
  public var fields: [HeaderField] = []
  /// The first bytes of the response body, at most 16 KiB; empty if there was no response, or if the body was the file
  /// itself.
  public var body: [UInt8] = []
  /// The error number of the failed system call, such as `ENOSPC` (errno(3)); nil if no system call failed.
  public var errorNumber: Int32?
  /// The path of the file that the download should create; nil if the error does not concern a file.
  public var path: String?

  /// The error that a function of your program threw, such as the function in ``DownloadOptions/validate``; nil if no function
  /// threw an error. Comparisons of transfer errors ignore this error.
  public var underlyingError: (any Error)? {
    get { cause.error }
    set { cause.error = newValue }
  }
  private var cause = Cause()

  private struct Cause: Sendable, Equatable {
    var error: (any Error)?

    static func == (one: Cause, other: Cause) -> Bool { true }
  }

  /// A setting that lets a failed download succeed. A person should decide whether to change the setting.
  public enum Remedy: Sendable, Hashable {
    /// Allow these address blocks in ``DownloaderConfiguration/addressPolicy``.
    case allow([CIDR])
    /// Set ``DownloadOptions/ifExists`` to a value other than `fail`.
    case ifExists
    /// Set ``DownloadOptions/digest``, which takes precedence over the digest that the server states.
    case digest
    /// Set ``DownloadOptions/login`` instead of a user and a password in the URL.
    case loginOption
    /// Set ``DownloadOptions/acceptUnverifiedLength`` to true.
    case acceptUnverifiedLength
    /// Set ``ProxyAddress/login``.
    case proxyPassword
    /// Set ``DownloadOptions/login``. `machine` is the name of the server as a netrc file spells it, for programs that read such
    /// a file.
    case login(machine: String)
    /// Add this scheme to ``DownloaderConfiguration/allowedSchemes``.
    case allowScheme(String)
    /// Add the host's key to the file of ``DownloaderConfiguration/knownHosts``.
    case knownHost
  }

  /// Creates an error.
  public init(
    _ errorClass: Class, _ message: String, remedy: Remedy? = nil, status: Int? = nil,
    retryAfter: Duration? = nil, host: String? = nil
  ) {
    self.errorClass = errorClass
    self.message = message
    self.remedy = remedy
    self.status = status
    self.retryAfter = retryAfter
    self.host = host
  }

  /// Creates a `blocked_address` error for a host that has only these addresses, which are not public.
  init(notPublic addresses: [IPAddress], host: String?) {
    let names = addresses.map(\.description).joined(separator: " and ")
    self.init(
      .blockedAddress,
      addresses.count == 1
        ? "the address \(names) is not public" : "the addresses \(names) are not public",
      remedy: .allow(addresses.map(CIDR.init)), host: host)
  }

  /// The class, the message and the remedy: `blockedAddress: the address 10.0.0.1 is not public; …`.
  public var description: String {
    let fact = "\(errorClass): \(message)"
    return remedy.map { "\(fact); \($0)" } ?? fact
  }
}

extension TransferError: LocalizedError {
  /// The message and the remedy. `localizedDescription` returns this text, too.
  public var errorDescription: String? { remedy.map { "\(message); \($0)" } ?? message }
}

extension TransferError.Remedy: CustomStringConvertible {
  /// The remedy as a phrase for a person, with the name of the setting in code.
  public var description: String {
    switch self {
    case .allow(let blocks):
      "if you trust this address, set addressPolicy to allow \(blocks.map(\.description).joined(separator: " and "))"
    case .ifExists: "set ifExists to skip, replace or rename"
    case .digest: "set DownloadOptions.digest to override this check"
    case .loginOption: "use DownloadOptions.login instead"
    case .acceptUnverifiedLength:
      "set acceptUnverifiedLength to true to accept a response without a length"
    case .proxyPassword: "set ProxyAddress.login to the user and password for the proxy"
    case .login: "set DownloadOptions.login to the user and the password or key for this server"
    case .allowScheme(let scheme): "add '\(scheme)' to allowedSchemes"
    case .knownHost:
      "check the key of the server, then add it to the file of DownloaderConfiguration.knownHosts"
    }
  }
}
