import Glibc
import HaulSystem

extension EmbeddedPostgresError {
  /// What the failure of a system call on `path` means.
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

/// Runs `body` and translates the failure of a system call.
func translating<R>(
  _ body: @autoclosure () throws(SystemError) -> R
) throws(EmbeddedPostgresError) -> R {
  do throws(SystemError) {
    return try body()
  } catch {
    throw .failed(error.path ?? error.call, error.number)
  }
}
