import Glibc
package import HaulSystem

extension TransferError {
  /// Returns the error for a failed system call. Its class is `disk_full` for ENOSPC and EDQUOT, `path_conflict` for
  /// ENOTDIR, EISDIR and ELOOP, `open_files` for EMFILE and ENFILE, `not_permitted` for EACCES, EPERM and EROFS, and
  /// `io` for every other error number.
  static func file(_ number: Int32, _ what: String) -> TransferError {
    var error = TransferError(fileClass(number), "\(what): \(SystemError.reason(number))")
    error.errorNumber = number
    return error
  }

  /// Returns the error for a failed system call in `directory`. If rights are missing, the message names the directory
  /// and its owner.
  static func file(
    _ number: Int32, _ what: String, in directory: FileDescriptor
  ) -> TransferError {
    var error = file(number, what)
    if [EACCES, EPERM].contains(number), let ownership = directory.ownership {
      error.message += "; \(ownership)"
    }
    return error
  }

  /// Creates the error for a failed system call, with the description of the system error as its message.
  package init(_ error: SystemError) {
    self.init(Self.fileClass(error.number), "\(error)")
    errorNumber = error.number
  }

  private static func fileClass(_ number: Int32) -> Class {
    switch number {
    case ENOSPC, EDQUOT: .diskFull
    case EMFILE, ENFILE: .openFiles
    case EACCES, EPERM, EROFS: .notPermitted
    case ENOTDIR, EISDIR, ELOOP: .pathConflict
    default: .io
    }
  }
}

/// Runs `body` and translates a thrown ``SystemError`` into a ``TransferError``.
package func translating<R>(
  _ body: @autoclosure () throws(SystemError) -> R
) throws(TransferError) -> R {
  do throws(SystemError) {
    return try body()
  } catch {
    throw TransferError(error)
  }
}
