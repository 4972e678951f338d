/// What is asked of a download besides its URL and path.
public struct DownloadOptions: Sendable {
  /// How the URL is asked for.
  public enum Method: Sendable, Hashable {
    /// GET.
    case get
    /// POST with this body, as services for exports want it. It is sent once: a broken answer is an error, and there is never
    /// any resume data. Only ``DownloadOptions/retry`` sends it again, and ``Download/resume()`` after a suspension.
    case post([UInt8])
    /// PUT with this body. It is sent once, as that of a POST.
    case put([UInt8])
  }

  // MARK: The file

  /// Checked before the file gets its name.
  public var digest: ExpectedDigest?
  /// More bytes than this fail as `tooLarge`; nil for no limit.
  public var maximumLength: Int64?
  /// What to do where a file of that name stands. Default: fail, which also fails as `pathConflict` before the body if another
  /// download of the same downloader makes that file at the moment. With `skip` the file that stands there is taken as it is; its
  /// digest is not checked.
  public var ifExists = CollisionPolicy.fail
  /// Chooses the file's name from the response, if the request was made with a directory. It may return a path below the
  /// directory; missing directories on that path are made. Nil takes ``DownloadResponse/fileName``.
  ///
  /// Called once, after ``validate``: a download that is resumed or tried again keeps its name. What it throws ends the download,
  /// as with ``validate``. A path that leads out of the directory fails as `pathConflict`. FTP has no response: the name is that
  /// of the URL.
  ///
  /// Called on the network's thread: must return soon.
  public var destination: (@Sendable (DownloadResponse) throws -> String)?
  /// A body without length that the server just ended counts as complete. Otherwise it is fetched twice
  /// and compared.
  public var acceptUnverifiedLength = false
  /// Checks each response before its body is written, also those that continue a partial file. What it throws ends the
  /// download: ``Download/value`` throws the same error, ``Download/result`` has the class `rejected` and that error as
  /// ``TransferError/underlyingError``.
  ///
  /// Called on the network's thread: must return soon.
  public var validate: (@Sendable (DownloadResponse) throws -> Void)?

  // MARK: The request

  /// The method, and its body. After a POST or PUT the file may also come with status 201.
  public var method = Method.get
  /// Header fields that say nothing about who asks, such as Accept. They follow redirects to any host.
  ///
  /// Fields that prove who asks, and those that a download needs for itself, such as Range, fail as `blockedURL`.
  public var fields: [HeaderField] = []
  /// Downloads only if the source has changed since this response, that of an earlier ``DownloadedFile/response``. Its ETag or
  /// Last-Modified is sent as If-None-Match or If-Modified-Since. If the server answers 304, the result is the file that stands at
  /// the path, and ``DownloadedFile/isUnchanged`` is true.
  ///
  /// It counts only if ``ifExists`` is `replace` and a file stands at the path, for GET, and not for a path that the response
  /// names. A program that keeps only these fields can make a response of them:
  /// `DownloadResponse(url: url, fields: [HeaderField("ETag", tag)])`, where `url` is the one that answered. The list of a queue does
  /// not keep it.
  public var onlyIfChangedSince: DownloadResponse?
  /// Header fields that prove who asks, such as Authorization. They go to the URL's own origin alone, and never follow a
  /// redirect to another.
  public var credentials: [HeaderField] = []
  /// A user and password for the URL's own origin: HTTP Basic or Digest, FTP or SFTP.
  public var login: Login?
  /// Asked for a login when a server demands one with status 401, whichever server that is. Nil, or a login that fails three
  /// times, ends the download as `http4xx`.
  public var authenticate: (@Sendable (AuthenticationChallenge) async -> Login?)?
  /// Asked before each redirect is followed, with the response and the absolute URL of the next request. If it returns false, the
  /// download ends as `rejected`, and ``TransferError/fields`` are those of the response. Nil follows every redirect.
  ///
  /// It can only refuse: an eleventh redirect in a row, or one to a URL that may not be fetched, is an error before. Must return
  /// soon.
  public var followRedirect: (@Sendable (DownloadResponse, _ url: String) -> Bool)?
  /// The proxy; nil takes the downloader's.
  public var proxy: ProxyAddress?

  // MARK: Time and rate

  /// How long a connection may take to be made; nil takes the downloader's limit.
  public var connectTimeout: Duration?
  /// How long the server may send nothing; nil takes the downloader's limits.
  public var stallTimeout: Duration?
  /// How long the whole download may take, from its first turn on, waits and pauses included; nil for no limit. What is
  /// durable by then can be resumed.
  public var timeout: Duration?
  /// The most bytes a second of all downloads that have this limit; nil for no limit.
  public var rateLimit: RateLimit?
  /// When to try again after a failure; nil never does. A broken connection needs no retry while the rest can be had.
  public var retry: RetryPolicy?

  /// The defaults.
  public init() {}
}

extension DownloadOptions {
  /// Why the program does not follow a redirect; nil where it does.
  func refusal(of head: ResponseHead, _ from: WebURL, to next: WebURL) -> TransferError? {
    guard let followRedirect, !followRedirect(DownloadResponse(head, from: from), next.text) else {
      return nil
    }
    return TransferError(
      .rejected, "the program refused the redirect to \(next.redacted)", status: head.status)
  }
}

extension TransferRequest {
  /// The request for `url` with a program's options, into what `makePart` makes.
  ///
  /// - Throws: `blocked_url` where the URL or the fields hold what they must not.
  init(
    _ url: WebURL, _ options: DownloadOptions, partName: String, makePart: @escaping MakePart
  ) throws(TransferError) {
    guard !url.hasCredentials else {
      throw TransferError(
        .blockedURL, "the URL holds a user or a password, which others may see",
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

  /// What the source said of the file that stands at the path; nil if it is not to be asked about that.
  ///
  /// - Parameter stands: whether a file stands there.
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
          case .secret(let name): "the field \(name) proves who asks: it belongs in credentials"
          case .reserved(let name) where name.lowercased().hasPrefix("if-"):
            "the field \(name) is for the library itself to send: see onlyIfChangedSince"
          case .reserved(let name): "the field \(name) is for the library itself to send"
          default: "\(error)"
          }
        throw TransferError(.blockedURL, reason)
      }
    }
    return fields
  }
}
