public import FoundationEssentials

/// A type that starts downloads: a ``Downloader``, a ``DownloadQueue``, or a fake in your own tests.
///
/// A fake implements ``start(_:from:)`` and returns downloads that ``Download/init(_:script:)`` creates. If your code also
/// calls ``data(from:options:)`` or ``head(_:options:)``, the fake implements these functions, too.
public protocol Downloading: Sendable {
  /// Starts a download and returns immediately. Pass `data` to continue a paused or interrupted download.
  func start(_ request: DownloadRequest, from data: ResumeData?) -> Download

  /// Downloads a small body into memory, as ``Downloader/data(from:options:)`` does.
  func data(from url: String, options: DownloadOptions) async throws -> (Data, DownloadResponse)

  /// Sends a HEAD request and returns its response, as ``Downloader/head(_:options:)`` does.
  func head(_ url: String, options: DownloadOptions) async throws -> DownloadResponse
}

extension Downloading {
  /// Throws a ``TransferError`` of class `rejected` that names the function to implement. This default serves fakes that return
  /// no body.
  public func data(
    from url: String, options: DownloadOptions
  ) async throws -> (Data, DownloadResponse) {
    throw TransferError(.rejected, "\(Self.self) does not implement data(from:options:)")
  }

  /// Throws a ``TransferError`` of class `rejected` that names the function to implement. This default serves fakes that return
  /// no response.
  public func head(_ url: String, options: DownloadOptions) async throws -> DownloadResponse {
    throw TransferError(.rejected, "\(Self.self) does not implement head(_:options:)")
  }

  /// Downloads a small body into memory, with the default options.
  public func data(from url: String) async throws -> (Data, DownloadResponse) {
    try await data(from: url, options: DownloadOptions())
  }

  /// Sends a HEAD request with the default options.
  public func head(_ url: String) async throws -> DownloadResponse {
    try await head(url, options: DownloadOptions())
  }

  /// Starts a download and returns immediately. ``Download/value`` throws the errors.
  @discardableResult
  public func start(_ request: DownloadRequest) -> Download { start(request, from: nil) }

  /// Starts a download and returns immediately. ``Download/value`` throws the errors.
  @discardableResult
  public func start(
    _ url: String, to path: String, options: DownloadOptions = DownloadOptions()
  ) -> Download {
    start(DownloadRequest(url, to: path, options: options), from: nil)
  }

  /// Continues a paused or interrupted download and returns immediately. The download begins at byte 0 if the source has
  /// changed or the partial file is gone. ``Download/value`` throws the errors. If another download uses the resume data, the
  /// download fails as `pathConflict` before Haul sends a request.
  ///
  /// If `path` is in another directory of the same file system, the partial file moves there. On another file system, the
  /// download fails as `pathConflict`. Resume data do not contain options: pass the options again.
  @discardableResult
  public func start(
    resumingFrom data: ResumeData, to path: String, options: DownloadOptions = DownloadOptions()
  ) -> Download {
    start(DownloadRequest(data.url, to: path, options: options), from: data)
  }

  /// Downloads a file. Cancelling the task cancels the download. After a failure no partial file is left.
  ///
  /// - Returns: The file. The file and its name are durable.
  /// - Throws: `CancellationError` if the task was cancelled; the error that ``DownloadOptions/validate`` threw; otherwise a
  ///   ``TransferError``. A broken connection is not an error while the download can resume. Haul follows up to ten redirects
  ///   in a row.
  public func download(_ request: DownloadRequest) async throws -> DownloadedFile {
    let download = start(request)
    do {
      return try await download.valueOfCall
    } catch {
      download.cancel()
      await download.untilRemoved()
      throw error
    }
  }

  /// Downloads a file, as ``download(_:)`` does.
  public func download(
    _ url: String, to path: String, options: DownloadOptions = DownloadOptions()
  ) async throws -> DownloadedFile {
    try await download(DownloadRequest(url, to: path, options: options))
  }

  /// Continues a paused or interrupted download, as ``start(resumingFrom:to:options:)`` does. After a failure the
  /// partial file stays, and `data` remain valid. Cancelling the task removes the partial file.
  ///
  /// - Returns: The file. The file and its name are durable.
  /// - Throws: The errors of ``download(_:)``.
  public func download(
    resumingFrom data: ResumeData, to path: String, options: DownloadOptions = DownloadOptions()
  ) async throws -> DownloadedFile {
    try await start(resumingFrom: data, to: path, options: options).valueOfCall
  }

  /// Downloads several files. Downloads begin in the order of the list; results come in the order of completion.
  ///
  /// Work starts immediately. Leaving the loop, cancelling the task that runs it, or ``Downloads/cancel()`` cancels the
  /// remaining downloads. With `maxConcurrent` 1, downloads run one after another. Without `continueAfterFailure`, the first
  /// failure cancels the remaining downloads and is the last result.
  ///
  /// - Precondition: `maxConcurrent` is positive.
  public func downloads(
    _ list: [DownloadRequest], maxConcurrent: Int = 4, continueAfterFailure: Bool = true
  ) -> Downloads {
    Downloads(
      list, by: self, maxConcurrent: maxConcurrent, continueAfterFailure: continueAfterFailure)
  }
}

extension Download {
  /// The file. Cancelling the waiting task cancels the download, but the call still waits for the download to end.
  fileprivate var valueOfCall: DownloadedFile {
    get async throws {
      await withTaskCancellationHandler {
        await untilFinished()
      } onCancel: {
        cancel()
      }
      do {
        return try await value
      } catch let error as TransferError where error.errorClass == .cancelled && Task.isCancelled {
        throw CancellationError()
      }
    }
  }
}
