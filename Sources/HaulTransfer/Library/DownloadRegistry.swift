import Synchronization

/// The downloads of a downloader that are not over, so that its end is theirs.
final class DownloadRegistry: Sendable {
  private struct State {
    var live: [ObjectIdentifier: Download] = [:]
    /// Partial files that are being removed.
    var pending = 0
    var isClosed = false
    var waiting: [CheckedContinuation<Void, Never>] = []

    var isEmpty: Bool { live.isEmpty && pending == 0 }
  }

  private let state = Mutex(State())

  /// Keeps a download until it is over. Returns false where none may begin any more.
  func add(_ download: Download) -> Bool {
    state.withLock { state in
      if !state.isClosed { state.live[ObjectIdentifier(download)] = download }
      return !state.isClosed
    }
  }

  /// Lets go of a download that is over.
  func handle(_ event: DownloadEvent, of download: Download) {
    if case .finished = event {
      change { $0.live[ObjectIdentifier(download)] = nil }
    }
  }

  /// Something goes on that is no download.
  func begin() { change { $0.pending += 1 } }

  /// That is over.
  func end() { change { $0.pending -= 1 } }

  /// Ends all downloads, and returns when nothing goes on any more. Those that are paused or in a list keep their
  /// partial files.
  func close() async {
    let live = state.withLock { state in
      state.isClosed = true
      return Array(state.live.values)
    }
    for download in live { download.endWithDownloader() }
    await withCheckedContinuation { continuation in
      change { $0.waiting.append(continuation) }
    }
  }

  private func change(_ body: (inout State) -> Void) {
    let waiting = state.withLock { state in
      body(&state)
      guard state.isEmpty else { return [CheckedContinuation<Void, Never>]() }
      defer { state.waiting = [] }
      return state.waiting
    }
    for continuation in waiting { continuation.resume() }
  }
}
