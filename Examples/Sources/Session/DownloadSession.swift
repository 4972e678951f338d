import FoundationEssentials
import HaulTransfer
import Synchronization

/// The counterpart of `URLSessionDownloadDelegate`. The calls for one task come one after another.
protocol DownloadSessionDelegate: AnyObject, Sendable {
  /// Reports that the source is unchanged, so that the task continues after the bytes of the resume data.
  func task(_ task: DownloadTask, didResumeAtOffset offset: Int64, expectedTotalBytes: Int64)
  /// Reports progress, about four times a second. `expected` is -1 while the length is unknown.
  func task(_ task: DownloadTask, didWriteData bytes: Int64, total: Int64, expected: Int64)
  /// Reports a complete file. Move the file: it is removed when this method returns.
  func task(_ task: DownloadTask, didFinishDownloadingTo location: URL)
  /// Reports the end of the task. No call follows. The error is nil after a success.
  func task(_ task: DownloadTask, didCompleteWithError error: (any Error)?)
}

/// The counterpart of `URLSession` for download tasks, built on a ``Downloader``. New code does not need this class.
final class DownloadSession: Sendable {
  private let downloader: Downloader
  private let delegate: any DownloadSessionDelegate
  private let directory: URL

  /// Creates a session with its unfinished files in `directory`. The delegate should move finished files within the same file
  /// system, because other moves copy the bytes.
  init(
    _ configuration: Downloader.Configuration, directory: URL, delegate: any DownloadSessionDelegate
  ) throws {
    downloader = try Downloader(configuration)
    self.directory = directory
    self.delegate = delegate
  }

  /// Creates a task. ``DownloadTask/resume()`` starts it.
  func downloadTask(with url: URL) -> DownloadTask {
    DownloadTask(url.absoluteString, from: nil, downloader, temporaryFile(), delegate)
  }

  /// Creates a task that continues an earlier task.
  func downloadTask(withResumeData data: Data) throws -> DownloadTask {
    let data = try ResumeData(json: Array(data))
    return DownloadTask(data.url, from: data, downloader, temporaryFile(), delegate)
  }

  /// Cancels all tasks. Returns when their partial files are removed. URLSession does not wait for this.
  func invalidateAndCancel() async { await downloader.shutdown() }

  private func temporaryFile() -> String { directory.appending(path: "\(UUID()).download").path }
}

/// The counterpart of `URLSessionDownloadTask`.
final class DownloadTask: Sendable {
  private struct State {
    /// Nil before the first ``resume()``, because a ``Download`` begins immediately.
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

  /// The resume data; nil if the task cannot be continued. URLSession has them in the error, under
  /// `NSURLSessionDownloadTaskResumeData`.
  var resumeData: Data? {
    state.withLock { $0.download?.resumeData }.flatMap { try? Data($0.json()) }
  }

  /// Starts the task, or continues it after ``suspend()``.
  func resume() {
    state.withLock { state in
      if let download = state.download { return download.resume() }
      let download = downloader.start(request, from: data)
      state.download = download
      Task { await follow(download) }
    }
  }

  /// Suspends the task: closes the connection and keeps the partial file. URLSession keeps the connection until the server
  /// closes it.
  func suspend() { state.withLock { $0.download?.suspend() } }

  /// Cancels the task and removes the partial file.
  func cancel() { state.withLock { $0.download?.cancel() } }

  /// Cancels the task, but keeps the partial file. `completion` receives the resume data, or nil if the task cannot be
  /// continued.
  func cancel(byProducingResumeData completion: @escaping @Sendable (Data?) -> Void) {
    let download = state.withLock { state in
      state.producing = completion
      return state.download
    }
    guard let download else { return completion(nil) }
    Task { await download.pause() }
  }

  /// Calls the delegate while the download runs and when it ends.
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

  /// Waits for the first response. Returns whether its status is 206: it then carries the rest of an unchanged file. A response
  /// with status 200 carries a whole file.
  private func isContinued(_ download: Download) async -> Bool {
    for await event in download.events {
      // The response may have arrived before this loop began.
      if let response = download.response { return response.status == 206 }
      if case .finished = event { return false }
    }
    return false
  }
}
