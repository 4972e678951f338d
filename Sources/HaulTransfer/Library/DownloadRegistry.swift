import Synchronization

/// Keeps track of the unfinished downloads of a downloader, and ends them when the downloader shuts down.
final class DownloadRegistry: Sendable {
  private enum Entry: Sendable {
    case unfinished(Download)
    /// A paused download, which only the program keeps alive.
    case paused(Paused)

    /// A weak reference. It is a separate type because the first weak reference to an object makes every later use of the
    /// object slower, and most downloads are never paused.
    struct Paused: Sendable {
      weak var download: Download?
    }

    var download: Download? {
      switch self {
      case .unfinished(let download): download
      case .paused(let paused): paused.download
      }
    }

    /// The download if it is unfinished; otherwise nil.
    var kept: Download? {
      if case .unfinished(let download) = self { download } else { nil }
    }
  }

  private struct List: Sendable {
    weak var members: DownloadMembers?
  }

  private struct State: Sendable {
    var live: [ObjectIdentifier: Entry] = [:]
    /// The lists of queues.
    var lists: [List] = []
    /// For each place, the running download that will create the file there.
    var claims: [DownloadTarget.Place: ObjectIdentifier] = [:]
    /// The place of each of these downloads.
    var claimed: [ObjectIdentifier: DownloadTarget.Place] = [:]
    /// The resume data of downloads that failed and are in no list. The key is the name of the partial file.
    var left: [String: ResumeData] = [:]
    /// The number of partial files that are being removed.
    var pending = 0
    var isClosed = false
    var waiting: [CheckedContinuation<Void, Never>] = []

    var isEmpty: Bool { live.isEmpty && pending == 0 }

    mutating func unclaim(_ download: ObjectIdentifier) {
      guard let place = claimed.removeValue(forKey: download), claims[place] == download else {
        return
      }
      claims[place] = nil
    }
  }

  private let state = Mutex(State())

  /// Keeps a download until it is over. Returns false if no further download may begin.
  func add(_ download: Download) -> Bool {
    state.withLock { state in
      if !state.isClosed { state.live[ObjectIdentifier(download)] = .unfinished(download) }
      return !state.isClosed
    }
  }

  /// Registers a list that is written when the downloader shuts down.
  func add(_ list: DownloadMembers) {
    state.withLock { state in
      state.lists.removeAll { $0.members == nil }
      state.lists.append(List(members: list))
    }
  }

  /// Handles an event: releases a download that is over or paused.
  func handle(_ event: DownloadEvent, of download: Download) {
    switch event {
    case .finished:
      note(download)
      remove(ObjectIdentifier(download))
    case .state(.paused): replace(download, by: .paused(Entry.Paused(download: download)))
    case .state(.waiting): replace(download, by: .unfinished(download))
    default: break
    }
  }

  private func replace(_ download: Download, by entry: Entry) {
    state.withLock { state in
      guard state.live[ObjectIdentifier(download)] != nil else { return }
      state.live[ObjectIdentifier(download)] = entry
    }
  }

  /// Remembers the partial file of a failed download. A paused download keeps its partial file.
  private func note(_ download: Download) {
    guard let data = download.shared.withLock({ $0.saved }) else { return }
    let part = data.checkpoint.part
    let isKept = download.keepsPartAfterShutdown
    state.withLock { $0.left[part] = isKept ? nil : data }
  }

  /// Forgets a partial file that no longer exists, or that another download continues.
  func forget(_ data: ResumeData) {
    state.withLock { $0.left[data.checkpoint.part] = nil }
  }

  /// Claims the place of the file that the download will create.
  ///
  /// - Returns: false if another download will create a file there. A download that will end without its file does not
  ///   count.
  func claim(_ place: DownloadTarget.Place, for download: Download) -> Bool {
    let id = ObjectIdentifier(download)
    while true {
      let holder = state.withLock { state -> Download? in
        if let other = state.claims[place], other != id, let holder = state.live[other]?.kept {
          return holder
        }
        // The download may have ended while the disk was checked.
        guard state.live[id] != nil else { return nil }
        state.unclaim(id)
        state.claims[place] = id
        state.claimed[id] = place
        return nil
      }
      guard let holder else { return true }
      if holder.isToComplete { return false }
      unclaim(holder)
    }
  }

  /// Gives up the download's place after its attempt, so that another download may claim it.
  func unclaim(_ download: Download) {
    state.withLock { $0.unclaim(ObjectIdentifier(download)) }
  }

  func remove(_ download: ObjectIdentifier) {
    change { state in
      state.live[download] = nil
      state.unclaim(download)
    }
  }

  /// Returns whether an unfinished download continues the partial file of `data`, or will continue it.
  func continues(_ data: ResumeData) -> Bool { continues(data.checkpoint.part) }

  func continues(_ part: String) -> Bool {
    let live = state.withLock { $0.live.values.compactMap(\.download) }
    return live.contains { download in
      download.shared.withLock { $0.saved?.checkpoint.part == part }
    }
  }

  /// Records the start of work that is not a download.
  func begin() { change { $0.pending += 1 } }

  /// Records the end of work that ``begin()`` started.
  func end() { change { $0.pending -= 1 } }

  /// Ends all downloads. Returns when all work has ended, and all lists are written and unlocked. Downloads that are
  /// paused or in a list keep their partial files. `discard` removes the partial file of a failed download.
  func close(_ discard: (ResumeData) async -> Void = { _ in }) async {
    let live = state.withLock { state in
      state.isClosed = true
      return state.live.values.compactMap(\.download)
    }
    for download in live { download.endWithDownloader() }
    await withCheckedContinuation { continuation in
      change { $0.waiting.append(continuation) }
    }
    let left = state.withLock { state in
      defer { state.left = [:] }
      return state.left.values
    }
    for data in left { await discard(data) }
    for list in state.withLock(\.lists) { await list.members?.close() }
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
