import Glibc
import HaulSystem

extension EmbeddedPostgresError {
  /// Returns the error for a failed system call on `path`. `number` is its errno.
  static func failed(_ path: String, _ number: Int32) -> EmbeddedPostgresError {
    let reason = SystemError.reason(number)
    switch number {
    case ENOSPC, EDQUOT: return .diskFull(path)
    case EMFILE, ENFILE: return .openFiles(path)
    case EACCES, EPERM, EROFS: return .notPermitted(path, reason: reason)
    default: return .inputOutput(path, reason: reason)
    }
  }
}

/// Runs `body`, and translates the error of a failed system call into an `EmbeddedPostgresError`.
func translating<R>(
  _ body: @autoclosure () throws(SystemError) -> R
) throws(EmbeddedPostgresError) -> R {
  do throws(SystemError) {
    return try body()
  } catch {
    throw .failed(error.path ?? error.call, error.number)
  }
}
