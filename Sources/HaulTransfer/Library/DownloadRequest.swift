public import FoundationEssentials
import HaulSystem

/// A URL, the path of its file, and the options of the download.
public struct DownloadRequest: Sendable {
  /// The absolute URL.
  public var url: String
  /// The path of the file to create. The directory of the file must exist. A relative path starts at the working directory that
  /// the process has when the download starts; a queue with a list stores the absolute path.
  ///
  /// If the response decides the name of the file, this is the path of the directory, with a `/` at its end.
  public var path: String {
    didSet { isURL = false }
  }
  /// The options of the download.
  public var options: DownloadOptions
  /// Your program's identifier for the download, such as a key of your database. Default: nil. Haul does not send the tag to
  /// the server. A queue with a list saves the tag in the list.
  public var tag: String?
  /// Whether ``path`` is the text of a URL other than a file URL. Haul cannot write to such a path.
  private(set) var isURL = false
  /// Whether the request was created with a directory.
  private var wasMadeWithDirectory = false
  /// Whether ``path`` is a directory in which the response names the file.
  var isDirectory: Bool { wasMadeWithDirectory && !isURL && path.hasSuffix("/") }

  /// Creates a request.
  public init(_ url: String, to path: String, options: DownloadOptions = DownloadOptions()) {
    self.url = url
    self.path = path
    self.options = options
  }

  /// Creates a request.
  public init(_ url: URL, to path: String, options: DownloadOptions = DownloadOptions()) {
    self.init(url.absoluteString, to: path, options: options)
  }

  /// Creates a request. `file` is a file URL. With any other URL the download fails as `pathConflict`.
  public init(_ url: URL, to file: URL, options: DownloadOptions = DownloadOptions()) {
    self.init(
      url.absoluteString, to: file.isFileURL ? file.path : file.absoluteString, options: options)
    isURL = !file.isFileURL
  }

  /// Creates a request for a file in `directory`. The response decides the name of the file. The directory must exist. The name
  /// is the result of ``DownloadOptions/destination``, or ``DownloadResponse/fileName`` if that option is nil. Caution: with
  /// ``CollisionPolicy/replace``, the server can thus choose which file of the directory is replaced.
  public init(
    _ url: String, in directory: String, options: DownloadOptions = DownloadOptions()
  ) {
    let isUsable = !directory.isEmpty && !directory.hasSuffix("/")
    self.init(url, to: isUsable ? "\(directory)/" : directory, options: options)
    wasMadeWithDirectory = !directory.isEmpty
  }

  /// Creates a request for a file in `directory`. The response decides the name of the file. `directory` is a file URL. With
  /// any other URL the download fails as `pathConflict`.
  public init(_ url: URL, in directory: URL, options: DownloadOptions = DownloadOptions()) {
    self.init(
      url.absoluteString, in: directory.isFileURL ? directory.path : directory.absoluteString,
      options: options)
    isURL = !directory.isFileURL
  }
}

/// A complete file. The file and its name are durable.
public struct DownloadedFile: Sendable, Hashable {
  /// The path of the file. The path may differ from the requested path if the collision policy is `rename`, or if the response
  /// decides the name of the file.
  public var path: String
  /// The file's length in bytes.
  public var bytes: Int64
  /// The requested digest, which Haul has checked; nil if none was requested, or if the file already existed.
  public var digest: ExpectedDigest?
  /// The last response that carried bytes of the file; nil for FTP, and if the file already existed.
  public var response: DownloadResponse?
  /// Whether the source is unchanged since ``DownloadOptions/onlyIfChangedSince``. The result is then the existing file.
  public var isUnchanged = false

  /// Creates the description of a complete file.
  public init(
    path: String, bytes: Int64, digest: ExpectedDigest? = nil, response: DownloadResponse? = nil
  ) {
    self.path = path
    self.bytes = bytes
    self.digest = digest
    self.response = response
  }
}

/// The progress of a download.
public struct DownloadProgress: Sendable, Hashable {
  /// The number of bytes of the file so far, including bytes from earlier attempts.
  public var bytes: Int64
  /// The length of the file in bytes; nil while the length is unknown.
  public var expected: Int64?
  /// The network rate in bytes per second, smoothed over about two seconds. All observers of the download see the same rate.
  public var rate: Double

  /// Creates progress.
  public init(bytes: Int64, expected: Int64? = nil, rate: Double = 0) {
    self.bytes = bytes
    self.expected = expected
    self.rate = rate
  }

  /// The downloaded fraction of the file, from 0 to 1; nil while the length is unknown.
  public var fractionCompleted: Double? {
    expected.map { $0 > 0 ? Double(bytes) / Double($0) : 1 }
  }

  /// The estimated time until the download is complete, at the present rate; nil while the length is unknown or no bytes
  /// arrive.
  public var estimatedTimeRemaining: Duration? {
    guard let expected, rate > 0 else { return nil }
    return .clamped(seconds: Double(max(0, expected - bytes)) / rate)
  }
}

/// The result of one of several downloads.
public struct DownloadResult: Sendable {
  /// The request of the download.
  public var request: DownloadRequest
  /// The file or the error.
  public var result: Result<DownloadedFile, TransferError>

  /// Creates a result.
  public init(request: DownloadRequest, result: Result<DownloadedFile, TransferError>) {
    self.request = request
    self.result = result
  }
}
