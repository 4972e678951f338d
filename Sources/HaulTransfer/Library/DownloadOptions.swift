/// The options of a download, in addition to its URL and path.
public struct DownloadOptions: Sendable {
  /// The request method, with the body.
  public enum Method: Sendable, Hashable {
    /// GET.
    case get
    /// POST with this body, for example for export services. Haul sends the body once: a broken response is an error, and Haul
    /// never creates resume data. Only ``DownloadOptions/retry``, and ``Download/resume()`` after a suspension, send the body
    /// again.
    case post([UInt8])
    /// PUT with this body. Haul sends the body once, as with POST.
    case put([UInt8])
  }

  // MARK: The file

  /// The expected digest, which Haul checks before the file gets its name. If nil, Haul checks the digest that the server
  /// states, if any.
  public var digest: ExpectedDigest?
  /// The maximum length of the file in bytes; nil for no limit. A larger file fails as `tooLarge`.
  public var maximumLength: Int64?
  /// The action if a file with the final name exists. Default: `fail`.
  ///
  /// With `fail`, the download also fails if another download of the same downloader is creating the file. It then fails as
  /// `pathConflict` before Haul reads the body. With `skip`, the existing file is the result, and Haul does not check its
  /// digest.
  public var ifExists = CollisionPolicy.fail
  /// Chooses the file's name from the response, if the request names a directory. The result may be a path below the directory;
  /// Haul creates missing directories. Nil uses ``DownloadResponse/fileName``.
  ///
  /// Haul calls the function once, after ``validate``. A download that is resumed or retried keeps the name. If the function
  /// throws an error, the download ends, as with ``validate``. A path that leads out of the directory fails as `pathConflict`.
  /// For FTP, which has no response, the name comes from the URL.
  ///
  /// Haul calls the function on the network's thread, so the function must return soon.
  public var destination: (@Sendable (DownloadResponse) throws -> String)?
  /// Whether a body without a stated length counts as complete when the server closes the connection. If false, Haul downloads
  /// such a file twice and compares both copies, or checks the digest if one is known.
  public var acceptUnverifiedLength = false
  /// Checks each response before its body is written, including responses that continue a partial file. If the function throws
  /// an error, the download ends, and ``Download/value`` throws that error. ``Download/result`` is then an error of class
  /// `rejected`, with the thrown error as ``TransferError/underlyingError``.
  ///
  /// Haul calls the function on the network's thread, so the function must return soon.
  public var validate: (@Sendable (DownloadResponse) throws -> Void)?

  // MARK: The request

  /// The request method, with the body. After a POST or PUT, a response with status 201 may carry the file too.
  public var method = Method.get
  /// Header fields without credentials, such as Accept. Haul sends these fields to every host, even after redirects.
  ///
  /// A download fails as `blockedURL` if a field carries credentials, or if the field is reserved for Haul, such as Range.
  public var fields: [HeaderField] = []
  /// The ``DownloadedFile/response`` of an earlier download. Haul then downloads the file only if the source has changed since.
  /// Haul sends the response's ETag as If-None-Match, or its Last-Modified as If-Modified-Since. If the server answers 304, the
  /// result is the existing file at the path, and ``DownloadedFile/isUnchanged`` is true.
  ///
  /// Haul uses the option only if ``ifExists`` is `replace`, a file exists at the path, the method is GET, and the request
  /// gives a file path, not a directory. A program that keeps only the header fields can create a response from these fields:
  /// `DownloadResponse(url: url, fields: [HeaderField("ETag", tag)])`, where `url` is the URL that answered. A
  /// ``DownloadQueue`` does not save this option in its list.
  public var onlyIfChangedSince: DownloadResponse?
  /// Header fields with credentials, such as Authorization. Haul sends these fields only to the URL's own origin, never to
  /// another origin after a redirect.
  public var credentials: [HeaderField] = []
  /// The user and password for the URL's own origin (HTTP Basic or Digest, FTP or SFTP); nil for none.
  public var login: Login?
  /// Returns a login when a server answers 401. If the function returns nil, or the server refuses three of its logins, the
  /// download ends as `http4xx`.
  public var authenticate: (@Sendable (AuthenticationChallenge) async -> Login?)?
  /// Decides whether to follow a redirect. Haul calls this function before each redirect, with the response and the absolute
  /// URL of the next request. If the function returns false, the download ends as `rejected`, and ``TransferError/fields`` are
  /// the fields of the response. Nil follows every redirect.
  ///
  /// The function can only refuse a redirect that Haul would follow. An eleventh redirect in a row, or a redirect to a URL that
  /// is not allowed, fails without a call. The function must return soon.
  public var followRedirect: (@Sendable (DownloadResponse, _ url: String) -> Bool)?
  /// The proxy; nil uses the downloader's proxy.
  public var proxy: ProxyAddress?

  // MARK: Time and rate

  /// The time limit for making a connection; nil uses the downloader's limit.
  public var connectTimeout: Duration?
  /// The maximum time without data from the server; nil uses the downloader's limits.
  public var stallTimeout: Duration?
  /// The time limit for the whole download, including waits and pauses; nil for no limit. The time begins when the download
  /// first runs. When the time is over, the download fails as `timeout`. Haul keeps the durable bytes, so you can resume the
  /// download.
  public var timeout: Duration?
  /// A rate limit in bytes per second. Downloads with the same `RateLimit` object share the limit. Nil for no limit.
  public var rateLimit: RateLimit?
  /// The rules for retries after a failure; nil never retries. If a connection breaks and the server can send the rest, Haul
  /// continues without a retry.
  public var retry: RetryPolicy?

  /// Creates the default options.
  public init() {}
}

extension DownloadOptions {
  /// Returns the error if the program refuses a redirect; nil if the program allows the redirect.
  func refusal(of head: ResponseHead, _ from: WebURL, to next: WebURL) -> TransferError? {
    guard let followRedirect, !followRedirect(DownloadResponse(head, from: from), next.text) else {
      return nil
    }
    return TransferError(
      .rejected, "the program refused the redirect to \(next.redacted)", status: head.status)
  }
}

extension TransferRequest {
  /// Creates the request for `url` with a program's options. `makePart` makes the file that the transfer writes.
  ///
  /// - Throws: `blocked_url` if the URL holds a user or a password, or if a field is not allowed.
  init(
    _ url: WebURL, _ options: DownloadOptions, partName: String, makePart: @escaping MakePart
  ) throws(TransferError) {
    guard !url.hasCredentials else {
      throw TransferError(
        .blockedURL, "the URL contains a user or password, which others may see",
        remedy: .loginOption)
    }
    self.init(url: url, partName: partName, makePart: makePart)
    digest = options.digest
    maximumLength = options.maximumLength
    acceptUnverifiedLength = options.acceptUnverifiedLength
    openFields = try Self.checked(options.fields)
    credentials = options.credentials
    login = options.login
    if let login, !url.isFile { credentials.append(.basic(login)) }
    authenticate = options.authenticate
    switch options.method {
    case .get: break
    case .post(let bytes): (method, body) = (.post, bytes)
    case .put(let bytes): (method, body) = (.put, bytes)
    }
    proxy = options.proxy
    rateLimit = options.rateLimit
    connectTimeout = options.connectTimeout
    stallTimeout = options.stallTimeout
  }

  /// Returns the source record of the existing file at the path; nil if the request should not ask whether the source has
  /// changed.
  ///
  /// - Parameter stands: Whether a file exists at the path.
  static func present(_ url: WebURL, _ options: DownloadOptions, stands: Bool) -> SourceRecord? {
    guard stands, options.ifExists == .replace, case .get = options.method,
      let earlier = options.onlyIfChangedSince
    else { return nil }
    let head = ResponseHead(status: earlier.status, fields: earlier.fields)
    let answered = (try? WebURL(earlier.url)) ?? url
    return SourceRecord(
      validator: Validator(head, now: .now), mediaType: head.mediaType, head: head,
      resource: answered == url ? nil : answered.resource)
  }

  private static func checked(_ fields: [HeaderField]) throws(TransferError) -> [HeaderField] {
    for field in fields {
      do throws(RequestField.Problem) {
        _ = try RequestField("\(field.name): \(field.value)")
      } catch {
        let reason =
          switch error {
          case .secret(let name):
            "the header \(name) contains a secret: use DownloadOptions.credentials instead"
          case .reserved(let name) where name.lowercased().hasPrefix("if-"):
            "the header \(name) cannot be set: use DownloadOptions.onlyIfChangedSince instead"
          case .reserved(let name):
            "the header \(name) cannot be set: the library sets this header itself"
          default: "\(error)"
          }
        throw TransferError(.blockedURL, reason)
      }
    }
    return fields
  }
}
