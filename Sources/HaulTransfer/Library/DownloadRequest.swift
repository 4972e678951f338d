import HaulSystem

/// A URL, where its file goes, and what is asked of it.
public struct DownloadRequest: Sendable {
  /// Absolute.
  public var url: String
  /// The file to make, in a directory that is there.
  public var path: String
  /// What is asked of it.
  public var options: DownloadOptions

  /// A request made of its parts.
  public init(_ url: String, to path: String, options: DownloadOptions = DownloadOptions()) {
    self.url = url
    self.path = path
    self.options = options
  }
}

/// What is asked of a download besides its URL and path.
public struct DownloadOptions: Sendable {
  /// Checked before the file gets its name.
  public var digest: ExpectedDigest?
  /// More bytes than this fail; nil for no limit.
  public var maximumLength: Int64?
  /// What to do where a file of that name stands.
  public var ifExists = CollisionPolicy.fail
  /// A body without length that the server just ended counts as complete. Otherwise it is fetched twice
  /// and compared.
  public var acceptUnverifiedLength = false
  /// Request fields that prove who asks, such as Authorization; they never follow a redirect to another
  /// origin.
  public var credentials: [ResponseHead.Field] = []

  /// The defaults.
  public init() {}
}

/// A file that is complete and durable, as is its name.
public struct DownloadedFile: Sendable, Hashable {
  /// The file's path; differs from the requested one under the collision policy `rename`.
  public var path: String
  /// The file's length in bytes.
  public var bytes: Int64
  /// The digest that was checked; nil where none was asked for, or the file was there already.
  public var digest: ExpectedDigest?
}

/// How far a download is.
public struct DownloadProgress: Sendable, Hashable {
  /// Bytes of the file so far, those of an earlier attempt included.
  public var bytes: Int64
  /// The file's length; nil while it is not known.
  public var expected: Int64?
  /// Bytes a second over the network, smoothed over about two seconds.
  public var rate: Double

  /// From 0 to 1; nil while the length is not known.
  public var fractionCompleted: Double? {
    expected.map { $0 > 0 ? Double(bytes) / Double($0) : 1 }
  }

  /// What is missing at the present rate; nil while the length is not known or nothing comes.
  public var estimatedTimeRemaining: Duration? {
    guard let expected, rate > 0 else { return nil }
    return .clamped(seconds: Double(max(0, expected - bytes)) / rate)
  }
}

/// How one of several downloads ended.
public struct DownloadResult: Sendable {
  /// What was asked for.
  public var request: DownloadRequest
  /// What came of it.
  public var result: Result<DownloadedFile, TransferError>
}

/// What a paused or broken download is gone on from: in this process or another, on the machine that
/// has the partial file. The bytes that it names are durable.
public struct ResumeData: Sendable, Hashable {
  let checkpoint: Checkpoint

  init?(_ checkpoint: Checkpoint?) {
    guard let checkpoint, checkpoint.url != nil else { return nil }
    self.checkpoint = checkpoint
  }

  /// Reads what ``json()`` gives.
  ///
  /// - Throws: `io` where it is anything else.
  public init(json: [UInt8]) throws(TransferError) {
    guard let data = ResumeData(try? Checkpoint(resumeData: json)) else {
      throw TransferError(.io, "these are no resume data")
    }
    self = data
  }

  /// For a file or a database. It holds the URL, and no other secret.
  public func json() throws(TransferError) -> [UInt8] {
    do {
      return try checkpoint.resumeData()
    } catch {
      throw TransferError(.io, "resume data cannot be written: \(error)")
    }
  }

  /// The original URL.
  public var url: String { checkpoint.url ?? "" }
  /// Bytes that need not be fetched again.
  public var bytes: Int64 { checkpoint.durable.count }
}
