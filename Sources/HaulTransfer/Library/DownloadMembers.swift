import Synchronization

/// The downloads of a queue, and the file that keeps them.
final class DownloadMembers: Sendable {
  private struct State {
    /// Those that are not over, by the order in which they were added.
    var downloads: [Int: Download] = [:]
    /// Those that are over and still in the list.
    var ended: [Int: Download] = [:]
    /// What the list says of each besides its own state.
    var ids: [Int: String] = [:]
    var published: [Int: PublishedFile] = [:]
    var numbers: [ObjectIdentifier: Int] = [:]
    var added = 0
    /// Whether the list must be written, and the task that writes it.
    var isChanged = false
    var writer: Task<Void, Never>?
    /// The number of calls of ``save()`` in progress.
    var saves = 0
    /// The queue is gone: no download is added or saved any more.
    var isLetGo = false
    /// The list may be another's.
    var isReleased = false
    /// Nothing is written meanwhile.
    var isRestoring = false

    mutating func forget(_ number: Int, _ download: Download) {
      // If the end is delivered later, it finds no number.
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

  /// Whether the downloads outlive the process.
  var areListed: Bool { file != nil }

  /// The downloads that have not ended, in the order in which they were added.
  var unfinished: [Download] {
    state.withLock { $0.downloads.sorted { $0.key < $1.key }.map(\.value) }
  }

  /// Those and the ones that are over and still in the list, in the order in which they were added.
  var all: [Download] {
    state.withLock { state in
      state.downloads.merging(state.ended) { first, _ in first }
        .sorted { $0.key < $1.key }.map(\.value)
    }
  }

  /// Adds a download; `id` is that of an entry that was read.
  func add(_ download: Download, id: String?) {
    state.withLock { state in
      state.added += 1
      state.downloads[state.added] = download
      state.numbers[ObjectIdentifier(download)] = state.added
      if file != nil { state.ids[state.added] = id ?? DownloadListEntry.newID() }
    }
    write()
  }

  /// Notes which file is about to get its name. A process that dies between that and the next write of the list leaves
  /// an entry whose file is there.
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
      // What writes the list next says it as well.
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
        // The program can no longer resume it.
        state.downloads[number] = nil
        return true
      case .state(.paused), .state(.waiting), .saved: return true
      default: return false
      }
    }
    if isChange { write() }
    releaseIfIdle()
  }

  /// Something has changed of the download that is no event, such as its priority.
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

  /// Runs `body`, which adds the downloads of the list. The list is written when all are there:
  ///   one is added → the list is written → the process dies → the others are lost.
  func restoring(_ body: () -> Void) {
    state.withLock { $0.isRestoring = true }
    body()
    state.withLock { $0.isRestoring = false }
    write()
  }

  /// The downloader has ended: the list is written, and another queue may have it.
  func close() async {
    guard let file else { return }
    // ``DownloadQueue/save()`` tells why it cannot be written.
    try? await save()
    state.withLock { $0.isReleased = true }
    await file.giveUp()
  }

  /// The queue is gone. Another queue may have the list after the last download has ended.
  func letGo() {
    state.withLock { state in
      state.isLetGo = true
      // It waits no longer for more changes.
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
        // They hold this, too.
        state.ended = [:]
        state.numbers = [:]
      }
      return isIdle
    }
    if isIdle { file?.release() }
  }

  /// Whether a download that ended so leaves the list. One that was ended by ``Download/pause()`` stays.
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

  /// Writes the list as it is now.
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
          // What cannot be written is written with the next change; ``DownloadQueue/save()`` tells why.
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

  /// The list at this moment, even if it was not reported yet; nil if it is written already.
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
