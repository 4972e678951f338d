import HaulSystem

/// Downloads to files over HTTP and HTTPS, in constant memory: one, or many with a cap.
///
///     let downloader = try Downloader()
///     let file = try await downloader.download("https://example.org/a.iso", to: "a.iso")
///
/// A file gets its name when all of it is there, checked and durable; until then its bytes are in a
/// hidden file in the same directory. Broken connections are gone on with, never into a mixture of two
/// versions. Errors are of ``TransferError``.
public final class Downloader: Sendable {
  let engine: Engine
  let io: IOPool

  /// Starts a thread for the network and four for the disk. They end when the downloader and its downloads
  /// have gone.
  ///
  /// - Throws: `io` where the system does not give them.
  public init(_ configuration: Engine.Configuration = Engine.Configuration()) throws(TransferError)
  {
    engine = try Engine(configuration)
    io = try translating(try IOPool(threads: 4))
  }

  /// Downloads to `path`, in a directory that is there. Cancelling the task cancels the download. A failure
  /// leaves nothing behind.
  ///
  /// - Returns: the file, durable as its name is.
  /// - Throws: `cancelled`; else why it failed. A connection that breaks is no error while the rest can be had,
  ///   nor is a redirect, of which ten in a row are followed.
  public func download(
    _ url: String, to path: String, options: DownloadOptions = DownloadOptions()
  ) async throws(TransferError) -> DownloadedFile {
    let request = DownloadRequest(url, to: path, options: options)
    return try await Self.value(
      of: Download(request, keepsPart: false, engine: engine, io: io))
  }

  /// Goes on with a paused or broken download; from 0 where the source has changed or the partial file
  /// is gone. A failure leaves the partial file, and `data` go on meaning it; a cancellation does not.
  ///
  /// The path must be in the same directory as before; its name may differ. `options` are not part of `data`:
  /// give them again.
  ///
  /// - Returns: the file, durable as its name is.
  /// - Throws: as ``download(_:to:options:)``.
  public func download(
    resumingFrom data: ResumeData, to path: String, options: DownloadOptions = DownloadOptions()
  ) async throws(TransferError) -> DownloadedFile {
    try await Self.value(of: start(resumingFrom: data, to: path, options: options))
  }

  /// Starts a download and returns at once. Every error is that of ``Download/value``.
  public func start(
    _ url: String, to path: String, options: DownloadOptions = DownloadOptions()
  ) -> Download {
    Download(DownloadRequest(url, to: path, options: options), engine: engine, io: io)
  }

  /// Resumes a download and returns at once. Every error is that of ``Download/value``.
  public func start(
    resumingFrom data: ResumeData, to path: String, options: DownloadOptions = DownloadOptions()
  ) -> Download {
    let request = DownloadRequest(data.url, to: path, options: options)
    return Download(request, from: data, engine: engine, io: io)
  }

  /// Downloads a list, beginning in its order, and gives the results in the order of completion.
  ///
  /// Work starts at once. Leaving the loop, or cancelling the task that runs it, cancels what is left. `maxConcurrent`
  /// is positive; 1 is one after another. Without `continueAfterFailure` the first failure cancels what is left, and
  /// its result is the last.
  public func downloads(
    _ list: [DownloadRequest], maxConcurrent: Int = 4, continueAfterFailure: Bool = true
  ) -> AsyncStream<DownloadResult> {
    precondition(maxConcurrent > 0, "no download would ever start")
    let (stream, continuation) = AsyncStream.makeStream(of: DownloadResult.self)
    let work = Task {
      await withTaskGroup(of: DownloadResult.self) { group in
        var waiting = list.makeIterator()
        for _ in 0..<maxConcurrent {
          if let next = waiting.next() { group.addTask { await self.result(of: next) } }
        }
        while let ended = await group.next() {
          if Task.isCancelled { break }
          continuation.yield(ended)
          if case .failure = ended.result, !continueAfterFailure { break }
          if let next = waiting.next() { group.addTask { await self.result(of: next) } }
        }
        group.cancelAll()
      }
      continuation.finish()
    }
    continuation.onTermination = { _ in work.cancel() }
    return stream
  }

  /// Ends all downloads as `cancelled` and returns when all connections are closed. Later downloads end so, too. A
  /// second call is no error.
  public func shutdown() async { await engine.shutdown() }

  private func result(of request: DownloadRequest) async -> DownloadResult {
    do throws(TransferError) {
      let file = try await download(request.url, to: request.path, options: request.options)
      return DownloadResult(request: request, result: .success(file))
    } catch {
      return DownloadResult(request: request, result: .failure(error))
    }
  }

  private static func value(of download: Download) async throws(TransferError) -> DownloadedFile {
    let result = await withTaskCancellationHandler {
      await download.result
    } onCancel: {
      download.cancel()
    }
    return try result.get()
  }
}
