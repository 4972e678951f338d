import Glibc
import Synchronization

/// A lock of flock(2) on a file of its own, which the kernel drops when the process dies.
package final class FileLock: Sendable {
  package enum Mode: Sendable {
    case shared
    case exclusive
  }

  private let path: String
  /// Nil once let go.
  private let file: Mutex<Int32?>

  /// Opens the file, or makes it, readable by its owner alone. Takes no lock yet.
  package init(_ path: String) throws(SystemError) {
    let opened = unsafe open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0o600)
    guard opened >= 0 else { throw SystemError("open", path) }
    self.path = path
    file = Mutex(opened)
  }

  deinit {
    release()
  }

  /// Takes the lock if no other process holds it, or changes its mode; where that fails, a lock held before
  /// is lost. (flock(2): a conversion drops the lock first)
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

  /// The open file, for a program that shall hold the lock as well; -1 once let go.
  package var descriptor: Int32 { file.withLock { $0 ?? -1 } }

  /// What stands in the file.
  package var note: String { file.withLock { $0.map(SmallFile.read) } ?? "" }

  /// Rewrites the file. A failed write is not an error: then the content is not a note.
  package func leave(note: String) {
    file.withLock { file in
      guard let file else { return }
      let bytes = Array(note.utf8)
      _ = ftruncate(file, 0)
      _ = unsafe pwrite(file, bytes, bytes.count, 0)
    }
  }

  /// Lets go. Again is no error.
  package func release() {
    file.withLock { file in
      if let number = file { close(number) }
      file = nil
    }
  }
}
