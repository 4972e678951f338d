import Synchronization

/// The downloads of a downloader that are not over, so that its end is theirs.
final class DownloadRegistry: Sendable {
  private struct Entry: Sendable {
    weak var download: Download?
    /// Nil while it is paused: only the program then keeps it.
    var kept: Download?
  }

  private struct List: Sendable {
    weak var members: DownloadMembers?
  }

  private struct State: Sendable {
    var live: [ObjectIdentifier: Entry] = [:]
    /// The lists of queues.
    var lists: [List] = []
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
      let entry = Entry(download: download, kept: download)
      if !state.isClosed { state.live[ObjectIdentifier(download)] = entry }
      return !state.isClosed
    }
  }

  /// Has a list written at the end.
  func add(_ list: DownloadMembers) {
    state.withLock { state in
      state.lists.removeAll { $0.members == nil }
      state.lists.append(List(members: list))
    }
  }

  /// Lets go of a download that is over or paused.
  func handle(_ event: DownloadEvent, of download: Download) {
    switch event {
    case .finished: remove(ObjectIdentifier(download))
    case .state(let phase):
      state.withLock {
        $0.live[ObjectIdentifier(download)]?.kept = phase == .paused ? nil : download
      }
    default: break
    }
  }

  func remove(_ download: ObjectIdentifier) { change { $0.live[download] = nil } }

  /// Whether a download that is not over continues the partial file of `data`, or is to continue it.
  func continues(_ data: ResumeData) -> Bool { continues(data.checkpoint.part) }

  func continues(_ part: String) -> Bool {
    let live = state.withLock { $0.live.values.compactMap(\.download) }
    return live.contains { download in
      download.shared.withLock { $0.saved?.checkpoint.part == part }
    }
  }

  /// Something goes on that is no download.
  func begin() { change { $0.pending += 1 } }

  /// That is over.
  func end() { change { $0.pending -= 1 } }

  /// Ends all downloads, and returns when nothing goes on any more and the lists are written. Downloads that are paused or in
  /// a list keep their partial files.
  func close() async {
    let live = state.withLock { state in
      state.isClosed = true
      return state.live.values.compactMap(\.download)
    }
    for download in live { download.endWithDownloader() }
    await withCheckedContinuation { continuation in
      change { $0.waiting.append(continuation) }
    }
    // ``DownloadQueue/save()`` tells why one cannot be written.
    for list in state.withLock(\.lists) { try? await list.members?.save() }
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
