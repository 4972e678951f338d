/// Where a download is between its start and its end.
public enum DownloadState: Sendable, Hashable, CustomStringConvertible {
  /// Waits for its turn, or for the time of its next attempt.
  case waiting
  /// Downloads.
  case running
  /// Stopped by ``Download/suspend()``. Keeps its partial file, and takes no place.
  case paused
  /// Complete, failed, cancelled or ended by ``Download/pause()``.
  case finished

  /// The name of the case.
  public var description: String {
    switch self {
    case .waiting: "waiting"
    case .running: "running"
    case .paused: "paused"
    case .finished: "finished"
    }
  }
}

/// What happens to a download, in the order in which it happens.
///
/// URLs in it may hold secrets, as signed URLs do. A later version may add cases: a `switch` with a `default` goes on building.
public enum DownloadEvent: Sendable {
  /// The state has changed.
  case state(DownloadState)
  /// A redirect is followed.
  case redirected(from: String, to: String)
  /// A response is here, and its body is about to be written. Comes again when the rest is asked for.
  case response(DownloadResponse)
  /// The progress, about four times a second while bytes come, and once more before the end. Only for ``Download/events``: a monitor
  /// does not receive it.
  case progress(DownloadProgress)
  /// More bytes are durable: what ``Download/resumeData`` is now.
  case saved(ResumeData)
  /// The attempt has failed, and another one follows after this time.
  case retrying(after: Duration, TransferError)
  /// The end. Nothing follows.
  case finished(Result<DownloadedFile, TransferError>)
}

/// Receives every event of every download of a ``Downloader``, for logs and metrics.
public protocol DownloadMonitor: AnyObject, Sendable {
  /// Called for each event, on the thread on which it happens, which may be the network's: must return soon. Events of one
  /// download come one after another, those of several at the same time.
  func handle(_ event: DownloadEvent, of download: Download)
}

/// The head of an HTTP response.
public struct DownloadResponse: Sendable, Hashable {
  /// The URL that answered: the last one, after redirects.
  public var url: String
  /// The status code: 200, 203 or 206, or 201 after a POST or PUT; of a redirect, 300 to 308.
  public var status: Int
  /// The header fields in the order received.
  public var fields: [HeaderField]

  /// A response made of its parts.
  public init(url: String, status: Int = 200, fields: [HeaderField] = []) {
    self.url = url
    self.status = status
    self.fields = fields
  }

  /// The name that a download into a directory gives its file: ``suggestedFileName``, or else the last name in the path of ``url``, or
  /// else `download`. Fit for any directory.
  public var fileName: String {
    let url = try? WebURL(url, schemes: WebURL.knownSchemes)
    return suggestedFileName ?? url.flatMap(FileName.last) ?? FileName.unknown
  }

  /// The media type in lower case, without parameters, such as `text/html`; nil if there is none, or no usable one. (Content-Type)
  public var mediaType: String? { ResponseHead(status: status, fields: fields).mediaType }

  init(_ head: ResponseHead, from url: WebURL) {
    self.init(url: url.text, status: head.status, fields: head.fields)
  }

  /// Returns the value of the first field with this name, in any case; nil if there is none.
  public func value(_ name: String) -> String? { fields.first { $0.isNamed(name) }?.value }

  /// The file name that the server suggests, fit for any directory; nil if it suggests none. (Content-Disposition, RFC 6266)
  ///
  /// A download into a directory uses it: see ``fileName``.
  public var suggestedFileName: String? {
    ResponseHead(status: status, fields: fields).suggestedName
  }

  /// Returns the values of all fields with this name, in the order of the head.
  public func values(_ name: String) -> [String] {
    fields.filter { $0.isNamed(name) }.map(\.value)
  }
}

extension TransferError {
  /// `rejected`: what ``DownloadOptions/validate`` threw.
  init(refused response: DownloadResponse, _ error: any Error) {
    self.init(
      .rejected, "the program refused the response: \(error)", status: response.status)
    underlyingError = error
  }
}
