import HaulSystem

extension FileLock {
  /// Waits for the lock without blocking a thread; `onWait` hears of it when it is not free at once.
  ///
  /// - Throws: `cancelled`, or why the file cannot be made or opened.
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

/// Looking again and again at what has no event: at once at first, later twenty times a second.
struct Pause {
  private var length = Duration.milliseconds(2)

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
