import HaulSystem

extension FileLock {
  /// Takes the lock, and waits for it without blocking a thread. Calls `onWait` if the lock is not free immediately.
  ///
  /// - Throws: `cancelled`, or the error if the file cannot be created or opened.
  static func take(
    _ path: String, _ mode: Mode, onWait: () -> Void
  ) async throws(EmbeddedPostgresError) -> FileLock {
    let lock = try translating(try FileLock(path))
    if try translating(try lock.tryTake(mode)) { return lock }
    onWait()
    var pause = Pause()
    repeat {
      try await pause.next()
    } while !(try translating(try lock.tryTake(mode)))
    return lock
  }
}

/// The pauses between repeated checks for a change that causes no event: 2 ms at first, later 50 ms.
struct Pause {
  private var length = Duration.milliseconds(2)

  /// Sleeps for the next pause.
  /// - Throws: `cancelled`.
  mutating func next() async throws(EmbeddedPostgresError) {
    do {
      try await Task.sleep(for: length)
    } catch {
      throw .cancelled
    }
    length = min(length * 5 / 4, .milliseconds(50))
  }
}
