import HaulSystem
import Synchronization

/// What a scripted download does, for tests of your own code.
public struct DownloadScript: Sendable {
  /// What was asked for.
  public let request: DownloadRequest
  fileprivate let download: Download
  fileprivate let work: ScriptWork

  /// Has all who follow the download see this progress. ``Download/events`` gives each one, ``Download/progress`` the last of each
  /// quarter of a second.
  public func send(_ progress: DownloadProgress) {
    work.progressNow.withLock { $0 = progress }
    download.shared.withLock { $0.send(progress) }
  }

  /// Has all who follow the download see this event. States and the end come by themselves.
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
  /// A download without network and files, for tests of your own code. It begins at once, and ends with what `script` returns or
  /// throws: a ``TransferError``, or any other error as if ``DownloadOptions/validate`` had thrown it.
  ///
  /// ``cancel()``, ``pause()`` and ``suspend()`` cancel the script's task; a `CancellationError` from it ends the download as
  /// `cancelled`. After ``resume()`` the script runs again from its beginning.
  public convenience init(
    _ request: DownloadRequest,
    script: @escaping @Sendable (DownloadScript) async throws -> DownloadedFile
  ) {
    self.init(request, work: ScriptWork(script))
    enter()
  }
}

/// Plays a script.
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
      return .failure(TransferError(.cancelled, "the download was ended"))
    } catch {
      download.shared.withLock { $0.refusal = error }
      var failure = TransferError(.rejected, "the script threw: \(error)")
      failure.underlyingError = error
      return .failure(failure)
    }
  }

  func stop() { task.withLock(\.self)?.cancel() }

  /// The rate is the script's.
  var progress: AttemptProgress? {
    progressNow.withLock(\.self).map {
      AttemptProgress(bytes: $0.bytes, total: $0.expected, rate: $0.rate)
    }
  }

  func discard(_ data: ResumeData) async {}
}
