import Synchronization

/// The downloads of a queue, and the file that lists them.
final class DownloadMembers: Sendable {
  private struct State {
    /// The unfinished downloads. The keys grow in the order in which the downloads were added.
    var downloads: [Int: Download] = [:]
    /// The ended downloads that are still in the list.
    var ended: [Int: Download] = [:]
    /// The identifier of each download's entry in the list, and its published file.
    var ids: [Int: String] = [:]
    var published: [Int: PublishedFile] = [:]
    var numbers: [ObjectIdentifier: Int] = [:]
    var added = 0
    /// Whether the list must be written, and the task that writes it.
    var isChanged = false
    var writer: Task<Void, Never>?
    /// The number of calls of ``save()`` in progress.
    var saves = 0
    /// Whether the queue was released. After that, the program can no longer add downloads or call ``save()``.
    var isLetGo = false
    /// Whether another queue may use the list.
    var isReleased = false
    /// Whether the list is being restored. The list is not written meanwhile.
    var isRestoring = false

    mutating func forget(_ number: Int, _ download: Download) {
      // If the final event comes later, `handle(_:of:)` finds no number and ignores the event.
      downloads[number] = nil
      ended[number] = nil
      ids[number] = nil
      published[number] = nil
      numbers[ObjectIdentifier(download)] = nil
    }
  }

  private let state = Mutex(State())
  private let file: DownloadListFile?

  init(_ file: DownloadListFile?) {
    self.file = file
  }

  /// Whether a list keeps the downloads beyond the end of the process.
  var areListed: Bool { file != nil }

  /// The downloads that have not ended, in the order in which they were added.
  var unfinished: [Download] {
    state.withLock { $0.downloads.sorted { $0.key < $1.key }.map(\.value) }
  }

  /// The unfinished downloads and the ended downloads that are still in the list, in the order in which they were
  /// added.
  var all: [Download] {
    state.withLock { state in
      state.downloads.merging(state.ended) { first, _ in first }
        .sorted { $0.key < $1.key }.map(\.value)
    }
  }

  /// Adds a download. `id` is the identifier of the download's entry in the list file; nil for a new download.
  func add(_ download: Download, id: String?) {
    state.withLock { state in
      state.added += 1
      state.downloads[state.added] = download
      state.numbers[ObjectIdentifier(download)] = state.added
      if file != nil { state.ids[state.added] = id ?? DownloadListEntry.newID() }
    }
    write()
  }

  /// Records which part file is about to get its final name. If the process dies before the next write of the list, the next
  /// process can recognize the complete file.
  func willPublish(_ part: PartFile, length: Int64, of download: Download) async {
    let (number, id) = state.withLock { state in
      let number = state.numbers[ObjectIdentifier(download)]
      return (number, number.flatMap { state.ids[$0] })
    }
    guard let file, let number, let id else { return }
    await file.add(id) {
      guard let identity = try? part.identity() else { return nil }
      let published = PublishedFile(
        identity: identity, length: length, chosenName: download.chosenName)
      // The next write of the list includes this record, too.
      self.state.withLock { state in
        if state.ids[number] != nil { state.published[number] = published }
      }
      return published
    }
  }

  func handle(_ event: DownloadEvent, of download: Download) {
    let isChange = state.withLock { state -> Bool in
      guard let number = state.numbers[ObjectIdentifier(download)] else { return false }
      switch event {
      case .finished(let result):
        state.downloads[number] = nil
        if file == nil || Self.isGone(result, download) {
          state.forget(number, download)
        } else {
          state.ended[number] = download
        }
        return true
      case .state(.paused) where state.isLetGo && file == nil:
        // The program can no longer resume this download.
        state.downloads[number] = nil
        return true
      case .state(.paused), .state(.waiting), .saved: return true
      default: return false
      }
    }
    if isChange { write() }
    releaseIfIdle()
  }

  /// Handles a change of the download that is not an event, such as a new priority.
  func update(_ download: Download) {
    guard file != nil else { return }
    let isChange = state.withLock { state in
      guard let number = state.numbers[ObjectIdentifier(download)],
        state.downloads[number] === download
      else { return false }
      return true
    }
    if isChange { write() }
  }

  /// Runs `body`, which adds the downloads of the list. The list is written only after all are added: if the process died after
  /// an earlier write, the other downloads would be lost.
  func restoring(_ body: () -> Void) {
    state.withLock { $0.isRestoring = true }
    body()
    state.withLock { $0.isRestoring = false }
    write()
  }

  /// Ends the use of the list because the downloader has ended: writes the list, and lets another queue use it.
  func close() async {
    guard let file else { return }
    // ``DownloadQueue/save()`` reports why the list cannot be written.
    try? await save()
    state.withLock { $0.isReleased = true }
    await file.giveUp()
  }

  /// Handles the release of the queue. Another queue may use the list after the last download has ended.
  func letGo() {
    state.withLock { state in
      state.isLetGo = true
      // The writer no longer waits for more changes.
      state.writer?.cancel()
      if file == nil {
        state.downloads = state.downloads.filter { $0.value.state != .paused }
      }
    }
    releaseIfIdle()
  }

  private func releaseIfIdle() {
    let isIdle = state.withLock { state in
      let isIdle =
        state.isLetGo && state.downloads.isEmpty && state.writer == nil && state.saves == 0
      if isIdle {
        state.isReleased = true
        // These downloads refer to this object, so both would stay in memory.
        state.ended = [:]
        state.numbers = [:]
      }
      return isIdle
    }
    if isIdle { file?.release() }
  }

  /// Returns whether a download with this result leaves the list. A download that ``Download/pause()`` ended stays.
  private static func isGone(
    _ result: Result<DownloadedFile, TransferError>, _ download: Download
  ) -> Bool {
    guard case .failure = result else { return true }
    return download.isCancelled
  }

  func forget(_ download: Download) {
    state.withLock { state in
      guard let number = state.numbers[ObjectIdentifier(download)] else { return }
      state.forget(number, download)
    }
    write()
  }

  // MARK: - The file

  /// Writes the list in its present state.
  func save() async throws(TransferError) {
    let mayWrite = state.withLock { state in
      if !state.isReleased { state.saves += 1 }
      return !state.isReleased
    }
    guard let file, mayWrite else { return }
    defer {
      state.withLock { $0.saves -= 1 }
      releaseIfIdle()
    }
    try await file.write { self.entries(ifChanged: false) }
  }

  /// Writes the list soon, once for several changes.
  private func write() {
    guard let file else { return }
    state.withLock { state in
      state.isChanged = true
      guard !state.isRestoring, !state.isReleased, state.writer == nil else { return }
      state.writer = Task {
        while goesOn() {
          // After a failure, the next change writes the list again; ``DownloadQueue/save()`` reports the reason.
          try? await file.write { self.entries(ifChanged: true) }
          if !self.state.withLock({ $0.isLetGo }) { try? await Task.sleep(for: .milliseconds(500)) }
        }
        releaseIfIdle()
      }
    }
  }

  private func goesOn() -> Bool {
    state.withLock { state in
      let goesOn = state.isChanged && !state.isReleased
      if !goesOn { state.writer = nil }
      return goesOn
    }
  }

  /// Returns the present entries, including changes that no event has reported yet; nil if `ifChanged` is true and nothing has
  /// changed.
  private func entries(ifChanged: Bool) -> [DownloadListEntry]? {
    state.withLock { state in
      guard state.isChanged || !ifChanged else { return nil }
      state.isChanged = false
      return state.ids.sorted { $0.key < $1.key }.compactMap { number, id in
        (state.downloads[number] ?? state.ended[number]).flatMap {
          DownloadListEntry($0, id: id, published: state.published[number])
        }
      }
    }
  }
}
