import HaulSystem
import Synchronization

/// Controls a download without network, for tests of your own code.
public struct DownloadScript: Sendable {
  /// The request of the download.
  public let request: DownloadRequest
  fileprivate let download: Download
  fileprivate let work: ScriptWork

  /// Sends this progress to all observers of the download. ``Download/events`` receives each value. ``Download/progress``
  /// receives only the last value of each quarter of a second.
  public func send(_ progress: DownloadProgress) {
    work.progressNow.withLock { $0 = progress }
    download.shared.withLock { $0.send(progress) }
  }

  /// Sends this event to all observers of the download. Haul sends changes of the state and the final event automatically.
  public func send(_ event: DownloadEvent) {
    switch event {
    case .progress(let progress): return send(progress)
    case .saved(let data): return download.saved(data)
    case .response(let response): download.shared.withLock { $0.response = response }
    default: break
    }
    download.tell(event)
  }
}

extension Download {
  /// Creates a download without network and files, for tests of your own code. The download begins immediately. The download
  /// ends with the file that `script` returns, or with the error that `script` throws. Haul handles an error other than a
  /// ``TransferError`` as if ``DownloadOptions/validate`` had thrown it.
  ///
  /// ``cancel()``, ``pause()`` and ``suspend()`` cancel the script's task. If the script throws a `CancellationError`, the
  /// download ends as `cancelled`. After ``resume()`` the script runs again from its beginning.
  public convenience init(
    _ request: DownloadRequest,
    script: @escaping @Sendable (DownloadScript) async throws -> DownloadedFile
  ) {
    self.init(request, work: ScriptWork(script))
    enter()
  }
}

/// Runs the script of a download.
private final class ScriptWork: DownloadWork {
  let progressNow = Mutex<DownloadProgress?>(nil)
  private let script: @Sendable (DownloadScript) async throws -> DownloadedFile
  private let task = Mutex<Task<DownloadedFile, any Error>?>(nil)

  init(_ script: @escaping @Sendable (DownloadScript) async throws -> DownloadedFile) {
    self.script = script
  }

  func attempt(_ download: Download) async -> Result<DownloadedFile, TransferError> {
    let play = DownloadScript(request: download.request, download: download, work: self)
    let task = Task { [script] in try await script(play) }
    self.task.withLock { $0 = task }
    if download.shared.withLock({ $0.wish != .complete }) { task.cancel() }
    defer { self.task.withLock { $0 = nil } }
    do {
      return .success(try await task.value)
    } catch let error as TransferError {
      return .failure(error)
    } catch is CancellationError {
      return .failure(TransferError(.cancelled, "the download was cancelled"))
    } catch {
      download.shared.withLock { $0.refusal = error }
      var failure = TransferError(.rejected, "the script threw an error: \(error)")
      failure.underlyingError = error
      return .failure(failure)
    }
  }

  func stop() { task.withLock(\.self)?.cancel() }

  /// The progress that the script sent last, with the script's own rate; nil before the first.
  var progress: AttemptProgress? {
    progressNow.withLock(\.self).map {
      AttemptProgress(bytes: $0.bytes, total: $0.expected, rate: $0.rate)
    }
  }

  func discard(_ data: ResumeData) async {}
}
