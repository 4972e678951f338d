public import FoundationEssentials
import HaulSystem

/// A URL, where its file goes, and what is asked of it.
public struct DownloadRequest: Sendable {
  /// Absolute.
  public var url: String
  /// The file to make, in a directory that is there. A relative path means the working directory of the moment at which the
  /// download is started; a queue with a list makes it absolute then.
  ///
  /// If the response names the file, this is the directory, with a `/` at its end.
  public var path: String {
    didSet { isURL = false }
  }
  /// What is asked of it.
  public var options: DownloadOptions
  /// The program's own word for the download, such as a key of its database; nil by default. It is not sent. The list of a queue
  /// keeps it.
  public var tag: String?
  /// Whether ``path`` is the text of a URL that is no file URL: there is nothing to write to.
  private(set) var isURL = false
  /// Whether the request was made with a directory.
  private var wasMadeWithDirectory = false
  /// Whether ``path`` is a directory, in which the response names the file.
  var isDirectory: Bool { wasMadeWithDirectory && !isURL && path.hasSuffix("/") }

  /// A request made of its parts.
  public init(_ url: String, to path: String, options: DownloadOptions = DownloadOptions()) {
    self.url = url
    self.path = path
    self.options = options
  }

  /// A request made of its parts.
  public init(_ url: URL, to path: String, options: DownloadOptions = DownloadOptions()) {
    self.init(url.absoluteString, to: path, options: options)
  }

  /// A request made of its parts. `file` is a file URL. With any other URL the download fails as `pathConflict`.
  public init(_ url: URL, to file: URL, options: DownloadOptions = DownloadOptions()) {
    self.init(
      url.absoluteString, to: file.isFileURL ? file.path : file.absoluteString, options: options)
    isURL = !file.isFileURL
  }

  /// A request whose response names the file. The directory must exist. ``DownloadOptions/destination`` chooses the name; without
  /// it the name is ``DownloadResponse/fileName``. With ``CollisionPolicy/replace`` the server then chooses which file of the
  /// directory it replaces.
  public init(
    _ url: String, in directory: String, options: DownloadOptions = DownloadOptions()
  ) {
    let isUsable = !directory.isEmpty && !directory.hasSuffix("/")
    self.init(url, to: isUsable ? "\(directory)/" : directory, options: options)
    wasMadeWithDirectory = !directory.isEmpty
  }

  /// A request whose response names the file. `directory` is a file URL. With any other URL the download fails as `pathConflict`.
  public init(_ url: URL, in directory: URL, options: DownloadOptions = DownloadOptions()) {
    self.init(
      url.absoluteString, in: directory.isFileURL ? directory.path : directory.absoluteString,
      options: options)
    isURL = !directory.isFileURL
  }
}

/// A file that is complete and durable, as is its name.
public struct DownloadedFile: Sendable, Hashable {
  /// The file's path; differs from the requested one under the collision policy `rename`, and if the response names the
  /// file.
  public var path: String
  /// The file's length in bytes.
  public var bytes: Int64
  /// The digest that was checked; nil where none was asked for, or the file was there already.
  public var digest: ExpectedDigest?
  /// The last response that carried bytes of it; nil for FTP, and where the file was there already.
  public var response: DownloadResponse?
  /// Whether the source has not changed since ``DownloadOptions/onlyIfChangedSince``: this is the file that was there.
  public var isUnchanged = false

  /// A file made of its parts.
  public init(
    path: String, bytes: Int64, digest: ExpectedDigest? = nil, response: DownloadResponse? = nil
  ) {
    self.path = path
    self.bytes = bytes
    self.digest = digest
    self.response = response
  }
}

/// How far a download is.
public struct DownloadProgress: Sendable, Hashable {
  /// Bytes of the file so far, those of an earlier attempt included.
  public var bytes: Int64
  /// The file's length; nil while it is not known.
  public var expected: Int64?
  /// Bytes a second over the network, smoothed over about two seconds; the same for all who follow the download.
  public var rate: Double

  /// Progress made of its parts.
  public init(bytes: Int64, expected: Int64? = nil, rate: Double = 0) {
    self.bytes = bytes
    self.expected = expected
    self.rate = rate
  }

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

  /// A result made of its parts.
  public init(request: DownloadRequest, result: Result<DownloadedFile, TransferError>) {
    self.request = request
    self.result = result
  }
}
