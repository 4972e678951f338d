import Glibc
import Synchronization

/// A lock of flock(2) on a file of its own, which the kernel drops when the process dies.
final class FileLock: Sendable {
  enum Mode: Sendable {
    case shared
    case exclusive
  }

  private let path: String
  /// Nil once let go.
  private let file: Mutex<Int32?>

  /// Waits for the lock without blocking a thread; `onWait` hears of it when it is not free at once.
  ///
  /// - Throws: `cancelled`, or why the file cannot be made or opened.
  static func take(
    _ path: String, _ mode: Mode, onWait: () -> Void
  ) async throws(EmbeddedPostgresError) -> FileLock {
    let lock = try FileLock(path)
    if try lock.tryTake(mode) { return lock }
    onWait()
    var pause = Pause()
    repeat { try await pause.next() } while !(try lock.tryTake(mode))
    return lock
  }

  private init(_ path: String) throws(EmbeddedPostgresError) {
    let opened = unsafe open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0o600)
    guard opened >= 0 else { throw .failed(path, errno) }
    self.path = path
    file = Mutex(opened)
  }

  deinit {
    release()
  }

  /// Takes the lock if nobody is in the way, or changes its mode; where that fails, a lock held before
  /// is lost. (flock(2): a conversion drops the lock first)
  func tryTake(_ mode: Mode) throws(EmbeddedPostgresError) -> Bool {
    let operation = (mode == .shared ? LOCK_SH : LOCK_EX) | LOCK_NB
    let failure = file.withLock { file in
      guard let file else { return EBADF }
      while flock(file, operation) != 0 {
        if errno != EINTR { return errno }
      }
      return 0
    }
    if failure == EWOULDBLOCK { return false }
    guard failure == 0 else { throw .failed(path, failure) }
    return true
  }

  /// The open file, for a program that shall hold the lock as well; -1 once let go.
  var descriptor: Int32 { file.withLock { $0 ?? -1 } }

  /// What stands in the file.
  var note: String { file.withLock { $0.map(SmallFile.read) } ?? "" }

  /// Writes the file anew. That it cannot be written is no error: what stands there then is no note.
  func leave(note: String) {
    file.withLock { file in
      guard let file else { return }
      let bytes = Array(note.utf8)
      _ = ftruncate(file, 0)
      _ = unsafe pwrite(file, bytes, bytes.count, 0)
    }
  }

  /// Lets go. Again is no error.
  func release() {
    file.withLock { file in
      if let number = file { close(number) }
      file = nil
    }
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
