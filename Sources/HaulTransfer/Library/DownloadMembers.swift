import Synchronization

/// The downloads of a queue, and the file that keeps them.
final class DownloadMembers: Sendable {
  private struct State {
    /// By the order in which they were added.
    var downloads: [Int: Download] = [:]
    var entries: [Int: DownloadListEntry] = [:]
    var numbers: [ObjectIdentifier: Int] = [:]
    var added = 0
    /// Whether the list is to be written, and whether somebody is at it.
    var isChanged = false
    var isWriting = false
    /// Nobody adds or saves any more.
    var isLetGo = false
    /// Nothing is written meanwhile.
    var isRestoring = false

    mutating func forget(_ number: Int, _ download: Download) {
      entries[number] = nil
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

  /// Those that are not over, in the order in which they were added.
  var all: [Download] {
    state.withLock { $0.downloads.sorted { $0.key < $1.key }.map(\.value) }
  }

  func add(_ download: Download) {
    state.withLock { state in
      state.added += 1
      state.downloads[state.added] = download
      state.numbers[ObjectIdentifier(download)] = state.added
      if file != nil { state.entries[state.added] = DownloadListEntry(download) }
    }
    write()
  }

  func handle(_ event: DownloadEvent, of download: Download) {
    let isChange = state.withLock { state -> Bool in
      guard let number = state.numbers[ObjectIdentifier(download)] else { return false }
      if case .finished(let result) = event {
        state.downloads[number] = nil
        if file == nil || Self.isGone(result, download) { state.forget(number, download) }
        return true
      }
      switch event {
      case .state(.paused), .state(.waiting), .saved:
        if file != nil { state.entries[number] = DownloadListEntry(download) }
        return true
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
      state.entries[number] = DownloadListEntry(download)
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

  /// The queue has gone: the list is another's once the last download is over.
  func letGo() {
    state.withLock { $0.isLetGo = true }
    releaseIfIdle()
  }

  private func releaseIfIdle() {
    let isIdle = state.withLock { $0.isLetGo && $0.downloads.isEmpty && !$0.isWriting }
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

  func save() async throws(TransferError) {
    guard let file else { return }
    try await file.write { self.entries() }
  }

  /// Has the list written soon: once for all that changes meanwhile.
  private func write() {
    guard let file else { return }
    let begins = state.withLock { state in
      state.isChanged = true
      guard !state.isRestoring, !state.isWriting else { return false }
      state.isWriting = true
      return true
    }
    guard begins else { return }
    Task {
      while takeChange() {
        // What cannot be written is written with the next change; ``DownloadQueue/save()`` tells why.
        try? await file.write { self.entries() }
        if !state.withLock({ $0.isLetGo }) { try? await Task.sleep(for: .milliseconds(500)) }
      }
      releaseIfIdle()
    }
  }

  private func takeChange() -> Bool {
    state.withLock { state in
      state.isWriting = state.isChanged
      defer { state.isChanged = false }
      return state.isChanged
    }
  }

  private func entries() -> [DownloadListEntry] {
    state.withLock { $0.entries.sorted { $0.key < $1.key }.map(\.value) }
  }
}
