import Glibc
package import HaulSystem

extension TransferError {
  /// The error for a failed system call: `disk_full` for ENOSPC and EDQUOT, `path_conflict` where
  /// the kinds of files are in each other's way, `open_files` for EMFILE and ENFILE, `not_permitted`
  /// for EACCES, EPERM and EROFS, else `io`.
  static func file(_ number: Int32, _ what: String) -> TransferError {
    var error = TransferError(fileClass(number), "\(what): \(SystemError.reason(number))")
    error.errorNumber = number
    return error
  }

  /// The error for a failed system call in `directory`. It names the directory and its owner where rights are missing.
  static func file(
    _ number: Int32, _ what: String, in directory: FileDescriptor
  ) -> TransferError {
    var error = file(number, what)
    if [EACCES, EPERM].contains(number), let ownership = directory.ownership {
      error.message += "; \(ownership)"
    }
    return error
  }

  /// The error for a failed system call, in the call's own words.
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

/// Runs `body` and translates the failure of a system call.
package func translating<R>(
  _ body: @autoclosure () throws(SystemError) -> R
) throws(TransferError) -> R {
  do throws(SystemError) {
    return try body()
  } catch {
    throw TransferError(error)
  }
}
