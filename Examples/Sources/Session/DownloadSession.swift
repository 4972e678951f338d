import FoundationEssentials
import HaulTransfer
import Synchronization

/// What `URLSessionDownloadDelegate` has. The calls for one task come one after another.
protocol DownloadSessionDelegate: AnyObject, Sendable {
  /// The source is unchanged, and the task continues where the resume data ended.
  func task(_ task: DownloadTask, didResumeAtOffset offset: Int64, expectedTotalBytes: Int64)
  /// About four times a second. `expected` is -1 while the length is not known.
  func task(_ task: DownloadTask, didWriteData bytes: Int64, total: Int64, expected: Int64)
  /// The file is removed when this returns. Move it.
  func task(_ task: DownloadTask, didFinishDownloadingTo location: URL)
  /// The last call. The error is nil after a success.
  func task(_ task: DownloadTask, didCompleteWithError error: (any Error)?)
}

/// What URLSession does with download tasks, made of a ``Downloader``. New code does not need it.
final class DownloadSession: Sendable {
  private let downloader: Downloader
  private let delegate: any DownloadSessionDelegate
  private let directory: URL

  /// Unfinished files are in `directory`, on the file system where the delegate moves them to.
  init(
    _ configuration: Downloader.Configuration, directory: URL, delegate: any DownloadSessionDelegate
  ) throws {
    downloader = try Downloader(configuration)
    self.directory = directory
    self.delegate = delegate
  }

  /// A task that begins with ``DownloadTask/resume()``.
  func downloadTask(with url: URL) -> DownloadTask {
    DownloadTask(url.absoluteString, from: nil, downloader, temporaryFile(), delegate)
  }

  /// A task that continues an earlier one.
  func downloadTask(withResumeData data: Data) throws -> DownloadTask {
    let data = try ResumeData(json: Array(data))
    return DownloadTask(data.url, from: data, downloader, temporaryFile(), delegate)
  }

  /// Returns when all tasks have ended and their partial files are removed. URLSession does not wait.
  func invalidateAndCancel() async { await downloader.shutdown() }

  private func temporaryFile() -> String { directory.appending(path: "\(UUID()).download").path }
}

/// What `URLSessionDownloadTask` is.
final class DownloadTask: Sendable {
  private struct State {
    /// Nil before the first ``resume()``: a ``Download`` begins at once.
    var download: Download?
    var producing: (@Sendable (Data?) -> Void)?
  }

  private let request: DownloadRequest
  private let data: ResumeData?
  private let downloader: Downloader
  private let delegate: any DownloadSessionDelegate
  private let state = Mutex(State())

  init(
    _ url: String, from data: ResumeData?, _ downloader: Downloader, _ path: String,
    _ delegate: any DownloadSessionDelegate
  ) {
    request = DownloadRequest(url, to: path)
    self.data = data
    self.downloader = downloader
    self.delegate = delegate
  }

  /// What URLSession has in the error, under `NSURLSessionDownloadTaskResumeData`. Nil where the task can only begin again.
  var resumeData: Data? {
    state.withLock { $0.download?.resumeData }.flatMap { try? Data($0.json()) }
  }

  /// Begins, or continues after ``suspend()``.
  func resume() {
    state.withLock { state in
      if let download = state.download { return download.resume() }
      let download = downloader.start(request, from: data)
      state.download = download
      Task { await follow(download) }
    }
  }

  /// Closes the connection and keeps the partial file. URLSession keeps the connection, until the server ends it.
  func suspend() { state.withLock { $0.download?.suspend() } }

  /// Removes the partial file.
  func cancel() { state.withLock { $0.download?.cancel() } }

  /// Keeps the partial file for a task with these resume data. They are nil where the task can only begin again.
  func cancel(byProducingResumeData completion: @escaping @Sendable (Data?) -> Void) {
    let download = state.withLock { state in
      state.producing = completion
      return state.download
    }
    guard let download else { return completion(nil) }
    Task { await download.pause() }
  }

  /// Turns what happens to the download into calls of the delegate.
  private func follow(_ download: Download) async {
    var total: Int64 = 0
    if let data, await isContinued(download) {
      total = data.bytes
      delegate.task(self, didResumeAtOffset: total, expectedTotalBytes: data.expected)
    }
    for await progress in download.progress where progress.bytes > total {
      delegate.task(
        self, didWriteData: progress.bytes - total, total: progress.bytes,
        expected: progress.expected ?? -1)
      total = progress.bytes
    }
    let result = await download.result
    if let producing = state.withLock({ $0.producing }) {
      producing(resumeData)
    }
    switch result {
    case .success(let file):
      let location = URL(filePath: file.path)
      delegate.task(self, didFinishDownloadingTo: location)
      try? FileManager.default.removeItem(at: location)
      delegate.task(self, didCompleteWithError: nil)
    case .failure(let error): delegate.task(self, didCompleteWithError: error)
    }
  }

  /// Waits for the first response. With 206 it carries the rest of an unchanged file, with 200 the whole of another one.
  private func isContinued(_ download: Download) async -> Bool {
    for await event in download.events {
      // The response may have been there before anyone followed the events.
      if let response = download.response { return response.status == 206 }
      if case .finished = event { return false }
    }
    return false
  }
}
