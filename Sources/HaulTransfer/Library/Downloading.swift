public import FoundationEssentials

/// Anything that starts downloads: a ``Downloader``, a ``DownloadQueue``, or a fake in your own tests.
///
/// A fake implements ``start(_:from:)``. ``Download/init(_:script:)`` makes the downloads that it returns. If your code asks for
/// responses without a file, the fake implements ``data(from:options:)`` or ``head(_:options:)`` as well.
public protocol Downloading: Sendable {
  /// Starts a download and returns at once. With `data` it continues a paused or broken one.
  func start(_ request: DownloadRequest, from data: ResumeData?) -> Download

  /// Downloads a small body into memory, as ``Downloader/data(from:options:)`` does.
  func data(from url: String, options: DownloadOptions) async throws -> (Data, DownloadResponse)

  /// Sends a HEAD request and returns its response, as ``Downloader/head(_:options:)`` does.
  func head(_ url: String, options: DownloadOptions) async throws -> DownloadResponse
}

extension Downloading {
  /// For a fake that has no body: throws a ``TransferError`` of class `rejected` that names the function to implement.
  public func data(
    from url: String, options: DownloadOptions
  ) async throws -> (Data, DownloadResponse) {
    throw TransferError(.rejected, "\(Self.self) does not implement data(from:options:)")
  }

  /// For a fake that has no response: throws a ``TransferError`` of class `rejected` that names the function to implement.
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

  /// Starts a download and returns at once. Every error is that of ``Download/value``.
  @discardableResult
  public func start(_ request: DownloadRequest) -> Download { start(request, from: nil) }

  /// Starts a download and returns at once. Every error is that of ``Download/value``.
  @discardableResult
  public func start(
    _ url: String, to path: String, options: DownloadOptions = DownloadOptions()
  ) -> Download {
    start(DownloadRequest(url, to: path, options: options), from: nil)
  }

  /// Continues a paused or broken download and returns at once. It begins at 0 where the source has changed or the partial
  /// file is gone. Every error is that of ``Download/value``: resume data that another download is using fail as
  /// `pathConflict` before anything is fetched.
  ///
  /// The partial file moves along where `path` is in another directory of the same file system; on another one the download
  /// fails as `pathConflict`. `options` are not part of `data`: give them again.
  @discardableResult
  public func start(
    resumingFrom data: ResumeData, to path: String, options: DownloadOptions = DownloadOptions()
  ) -> Download {
    start(DownloadRequest(data.url, to: path, options: options), from: data)
  }

  /// Downloads a file. Cancelling the task cancels the download. A failure leaves nothing behind.
  ///
  /// - Returns: the file, durable as its name is.
  /// - Throws: `CancellationError` where the task was cancelled, what ``DownloadOptions/validate`` threw, else a
  ///   ``TransferError``. A broken connection is not an error while the download can resume. Up to ten redirects in a row are
  ///   followed.
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

  /// Continues a paused or broken download, as ``start(resumingFrom:to:options:)`` does. A failure leaves the partial file, and
  /// `data` go on meaning it; cancelling the task removes it.
  ///
  /// - Returns: the file, durable as its name is.
  /// - Throws: as ``download(_:)``.
  public func download(
    resumingFrom data: ResumeData, to path: String, options: DownloadOptions = DownloadOptions()
  ) async throws -> DownloadedFile {
    try await start(resumingFrom: data, to: path, options: options).valueOfCall
  }

  /// Downloads a list, beginning in its order, and gives the results in the order of completion.
  ///
  /// Work starts at once. Leaving the loop, cancelling the task that runs it, or ``Downloads/cancel()`` cancels what is left.
  /// With `maxConcurrent` 1 they come one after another. Without `continueAfterFailure` the first failure cancels what is
  /// left, and its result is the last.
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
  /// The file that a call waits for: cancelling the task cancels the download, whose end is then waited for.
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
