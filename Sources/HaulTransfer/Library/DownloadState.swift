/// The state of a download between its start and its end.
public enum DownloadState: Sendable, Hashable, CustomStringConvertible {
  /// The download waits for its turn, or for the time of its next attempt.
  case waiting
  /// The download is running.
  case running
  /// ``Download/suspend()`` has stopped the download. The download keeps its partial file, and another download may run
  /// instead.
  case paused
  /// The download is complete, has failed, was cancelled or was ended by ``Download/pause()``.
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

/// An event of a download. Events arrive in the order in which they happen.
///
/// URLs in an event may hold secrets, such as signatures. A later version of Haul may add cases, so each `switch` over an event
/// needs a `default`.
public indirect enum DownloadEvent: Sendable {
  /// The state has changed.
  case state(DownloadState)
  /// The download follows a redirect.
  case redirected(from: String, to: String)
  /// A response has arrived, and Haul is about to write the body of the response. The event comes again when Haul requests the
  /// rest of the file.
  case response(DownloadResponse)
  /// The progress, about four times a second while bytes arrive, and once more before the end. Only ``Download/events`` has
  /// this event: a monitor does not receive progress events.
  case progress(DownloadProgress)
  /// More bytes are durable. The value is the new ``Download/resumeData``.
  case saved(ResumeData)
  /// The attempt has failed with this error. Another attempt follows after this time.
  case retrying(after: Duration, TransferError)
  /// The download has ended. No event follows.
  case finished(Result<DownloadedFile, TransferError>)
}

/// Receives the events of every download of a ``Downloader``, except progress, for logs and metrics.
public protocol DownloadMonitor: AnyObject, Sendable {
  /// Handles an event. Haul calls this method on the thread of the event, which may be the network's thread, so the method must
  /// return soon. Events of one download arrive one after another; events of several downloads may arrive at the same time.
  func handle(_ event: DownloadEvent, of download: Download)
}

/// The head of an HTTP response.
public struct DownloadResponse: Sendable, Hashable {
  /// The URL that sent this response. After redirects, this is the last URL.
  public var url: String
  /// The status code: 200, 203 or 206, or 201 after a POST or PUT. A response with a redirect has a status from 300 to 308.
  public var status: Int
  /// The header fields in the order received.
  public var fields: [HeaderField]

  /// Creates a response.
  public init(url: String, status: Int = 200, fields: [HeaderField] = []) {
    self.url = url
    self.status = status
    self.fields = fields
  }

  /// The file name for a download into a directory: ``suggestedFileName``, or the last name in the path of ``url``, or
  /// `download`. The name is safe in any directory.
  public var fileName: String {
    let url = try? WebURL(url, schemes: WebURL.knownSchemes)
    return suggestedFileName ?? url.flatMap(FileName.last) ?? FileName.unknown
  }

  /// The media type in lower case, without parameters, such as `text/html`; nil if the response states no usable media type.
  /// (Content-Type)
  public var mediaType: String? { ResponseHead(status: status, fields: fields).mediaType }

  init(_ head: ResponseHead, from url: WebURL) {
    self.init(url: url.text, status: head.status, fields: head.fields)
  }

  /// Returns the value of the first field with this name, without regard to case; nil if there is no such field.
  public func value(_ name: String) -> String? { fields.first { $0.isNamed(name) }?.value }

  /// The file name that the server suggests, safe in any directory; nil if the server suggests no name. (Content-Disposition,
  /// RFC 6266)
  ///
  /// A download into a directory uses this name: see ``fileName``.
  public var suggestedFileName: String? {
    ResponseHead(status: status, fields: fields).suggestedName
  }

  /// Returns the values of all fields with this name, in the order of the head.
  public func values(_ name: String) -> [String] {
    fields.filter { $0.isNamed(name) }.map(\.value)
  }
}

extension TransferError {
  /// Creates a `rejected` error with the error that ``DownloadOptions/validate`` threw.
  init(refused response: DownloadResponse, _ error: any Error) {
    self.init(
      .rejected, "the program refused the response: \(error)", status: response.status)
    underlyingError = error
  }
}
