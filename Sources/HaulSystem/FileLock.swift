import Glibc
import Synchronization

/// A lock file, which processes lock with flock(2). The kernel releases the lock when the process dies.
package final class FileLock: Sendable {
  package enum Mode: Sendable {
    case shared
    case exclusive
  }

  private let path: String
  /// The open file, or nil after release.
  private let file: Mutex<Int32?>

  /// Opens the lock file without locking it. Creates the file if it is missing, readable only by its owner.
  package init(_ path: String) throws(SystemError) {
    let opened = unsafe open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0o600)
    guard opened >= 0 else { throw SystemError("open", path) }
    self.path = path
    file = Mutex(opened)
  }

  deinit {
    release()
  }

  /// Takes the lock, or changes the mode of a lock that this process holds. Returns false if another process holds the lock. If
  /// a change of the mode fails, this process no longer holds the lock, because flock(2) first releases the lock.
  package func tryTake(_ mode: Mode) throws(SystemError) -> Bool {
    let operation = (mode == .shared ? LOCK_SH : LOCK_EX) | LOCK_NB
    let failure = file.withLock { file in
      guard let file else { return EBADF }
      while flock(file, operation) != 0 {
        if errno != EINTR { return errno }
      }
      return 0
    }
    if failure == EWOULDBLOCK { return false }
    guard failure == 0 else { throw SystemError("flock", path, failure) }
    return true
  }

  /// The descriptor of the lock file, for a child program that must also hold the lock; -1 after release.
  package var descriptor: Int32 { file.withLock { $0 ?? -1 } }

  /// The content of the lock file.
  package var note: String { file.withLock { $0.map(SmallFile.read) } ?? "" }

  /// Replaces the content of the lock file. A failed write is not an error; the content is then invalid.
  package func leave(note: String) {
    file.withLock { file in
      guard let file else { return }
      let bytes = Array(note.utf8)
      _ = ftruncate(file, 0)
      _ = unsafe pwrite(file, bytes, bytes.count, 0)
    }
  }

  /// Releases the lock. A second call does nothing.
  package func release() {
    file.withLock { file in
      if let number = file { close(number) }
      file = nil
    }
  }
}
