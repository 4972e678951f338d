public import FoundationEssentials

/// Why a transfer ended without a result: a class that programs decide by, and a sentence for people.
///
/// The sentence never holds credentials: URLs in it are redacted.
public struct TransferError: Error, Sendable, Equatable, CustomStringConvertible {
  /// What kind of trouble it was.
  ///
  /// In text a class is spelled as in code: `http4xx`. Its raw value, `http_4xx`, is the word of a pool's database and logs.
  public enum Class: String, Sendable, CaseIterable, CustomStringConvertible {
    /// The host's name could not be resolved.
    case dns
    /// No connection could be made, or it was refused.
    case connect
    /// The TLS or SSH handshake, or the check of the certificate or host key, failed.
    case tls
    /// No answer, or too few bytes a second, for too long.
    case timeout
    /// The connection broke, or the body ended early, again and again.
    case interrupted
    /// 403 without Retry-After: the server refuses this file to a request like this.
    case http403 = "http_403"
    /// 404: the server has no such file.
    case http404 = "http_404"
    /// 410: the server no longer has the file.
    case http410 = "http_410"
    /// Another 4xx answer without a time to come back, but 408, 425 and 429: the server does not give this file.
    case http4xx = "http_4xx"
    /// A 5xx answer, 202, 408, 425, or another 4xx with Retry-After: the server cannot give this file now.
    case http5xx = "http_5xx"
    /// An FTP or SFTP server has no such file, or does not give it.
    case noFile = "no_file"
    /// 429, or 403 or 503 with Retry-After or no requests left: the host asks for less (RFC 6585 §4, RFC 9110 §15.6.4);
    /// 421 in FTP.
    case rateLimited = "rate_limited"
    /// The answer breaks HTTP, or has a status that carries no file, such as 204, or 201 after a GET.
    case `protocol`
    /// The body ended early, and the server cannot be asked for the rest of it.
    case range
    /// The source was another one each time it was read.
    case sourceChanged = "source_changed"
    /// What came looks like an error page or a log-in form, and not like the file that is there.
    case suspectPage = "suspect_page"
    /// The file does not have the digest that it should have.
    case digest
    /// The file does not have the length that it should have.
    case length
    /// The file is larger than the limit that was set.
    case tooLarge = "too_large"
    /// The server gives no length, and nothing else proved the file whole.
    case unverifiedLength = "unverified_length"
    /// The host's address is private, loopback or link-local, and not allowed.
    case blockedAddress = "blocked_address"
    /// The URL or a redirect cannot be read, has a scheme that is not allowed, or holds credentials.
    case blockedURL = "blocked_url"
    /// The credential that the job names may not be sent where its URL leads.
    case blockedCredential = "blocked_credential"
    /// The credential that the job names is not here, or cannot be read or used.
    case credential
    /// An FTP or SFTP server wants a user, and there is none to name.
    case noCredential = "no_credential"
    /// The proxy that all connections go through does not answer, or refuses; or a network on the way wants a log-in (511).
    case proxy
    /// The server redirects again and again.
    case redirects
    /// A file stands under the final name.
    case exists
    /// A directory stands where the file should be, or the path names no file.
    case pathConflict = "path_conflict"
    /// The file system is full, or a quota is.
    case diskFull = "disk_full"
    /// Reading or writing a local file failed.
    case io
    /// The user of this process may not write a local file, or its file system is read-only.
    case notPermitted = "not_permitted"
    /// The process or the machine has no open file to spare.
    case openFiles = "open_files"
    /// The program's own check refused the response or a redirect: ``DownloadOptions/validate``,
    /// ``DownloadOptions/followRedirect``.
    case rejected
    /// The transfer was cancelled or paused.
    case cancelled

    /// The name that the class has in code.
    public var description: String {
      switch self {
      case .http4xx: "http4xx"
      case .http5xx: "http5xx"
      case .protocol: "protocol"
      default: Self.inCamelCase(rawValue)
      }
    }

    /// The class of an answer with this status of the client's, which refuses the file for good.
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

  /// What programs decide by.
  public var errorClass: Class
  /// One sentence for a person: what happened.
  public var message: String
  /// What would let it pass; nil where nothing that can be set does.
  public var remedy: Remedy?
  /// The answer's status code, where there was an answer.
  public var status: Int?
  /// How long the server asks to wait (RFC 9110 §10.2.3), counted from the answer's arrival.
  public var retryAfter: Duration?
  /// The host that answered or failed to, as `name` or `name:port`; differs from the URL's after a redirect.
  public var host: String?

  /// The header fields of the answer; empty where there was none. They may hold secrets, such as cookies.
  public var fields: [HeaderField] = []
  /// The beginning of the answer's body, at most 16 KiB; empty where there was none, or the body was the file's.
  public var body: [UInt8] = []
  /// The error number of the system call that failed, such as `ENOSPC`; nil where none did. (errno(3))
  public var errorNumber: Int32?
  /// The file that the download was to make, where the trouble is with files.
  public var path: String?

  /// The error that the program's own code threw, such as ``DownloadOptions/validate``; nil where it threw none. It does not count
  /// where errors are compared.
  public var underlyingError: (any Error)? {
    get { cause.error }
    set { cause.error = newValue }
  }
  private var cause = Cause()

  private struct Cause: Sendable, Equatable {
    var error: (any Error)?

    static func == (one: Cause, other: Cause) -> Bool { true }
  }

  /// What a program may set so that a download passes that failed. Whether it should is for a person to say.
  public enum Remedy: Sendable, Hashable {
    /// These blocks, in ``DownloaderConfiguration/addressPolicy``.
    case allow([CIDR])
    /// Another ``DownloadOptions/ifExists`` than `fail`.
    case ifExists
    /// ``DownloadOptions/digest``, which counts before what the server states.
    case digest
    /// ``DownloadOptions/login``, instead of a user and a password in the URL.
    case loginOption
    /// ``DownloadOptions/acceptUnverifiedLength``.
    case acceptUnverifiedLength
    /// The proxy's user and password in a netrc file.
    case proxyPassword
    /// A credential, or the user and the password in a netrc file, where the machine is called so.
    case login(machine: String)
    /// This scheme, in ``DownloaderConfiguration/allowedSchemes``.
    case allowScheme(String)
    /// The host's key, in the file of ``DownloaderConfiguration/knownHosts``.
    case knownHost
  }

  /// An error made of its parts.
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

  /// `blocked_address`: a host has none but these addresses, which are not public.
  init(notPublic addresses: [IPAddress], host: String?) {
    let names = addresses.map(\.description).joined(separator: " and ")
    self.init(
      .blockedAddress,
      addresses.count == 1
        ? "the address \(names) is not public" : "the addresses \(names) are not public",
      remedy: .allow(addresses.map(CIDR.init)), host: host)
  }

  /// The sentence between its class and its remedy: `blockedAddress: the address 10.0.0.1 is not public; …`.
  public var description: String {
    let fact = "\(errorClass): \(message)"
    return remedy.map { "\(fact); \($0)" } ?? fact
  }
}

extension TransferError: LocalizedError {
  /// The sentence, with its remedy: what `localizedDescription` returns.
  public var errorDescription: String? { remedy.map { "\(message); \($0)" } ?? message }
}

extension TransferError.Remedy: CustomStringConvertible {
  /// What may be set, by its name in a program.
  public var description: String {
    switch self {
    case .allow(let blocks):
      "addressPolicy may allow \(blocks.map(\.description).joined(separator: " and "))"
    case .ifExists: "ifExists may be skip, replace or rename"
    case .digest: "a digest among the options overrules it"
    case .loginOption: "DownloadOptions.login takes them"
    case .acceptUnverifiedLength: "acceptUnverifiedLength takes the first that comes"
    case .proxyPassword: "a netrc file has them under 'machine HOST:PORT'"
    case .login(let machine): "a netrc file has them under 'machine \(machine)'"
    case .allowScheme(let scheme): "allowedSchemes may hold '\(scheme)'"
    case .knownHost: "the file of knownHosts may have it"
    }
  }
}
