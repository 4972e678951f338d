import Glibc
import HaulCLinux
package import HaulSystem

/// Who may write in a directory.
extension FileDescriptor {
  /// Why this process may not make entries in this directory: EACCES, EPERM, EROFS, or 0. Nothing is written to find out. A
  /// disk that is full or broken does not show. (faccessat(2), `AT_EACCESS`)
  var writeObstacle: Int32 {
    guard unsafe faccessat(raw, ".", W_OK | X_OK, AT_EACCESS) != 0 else { return 0 }
    return [EACCES, EPERM, EROFS].contains(errno) ? errno : 0
  }

  /// Whether this process has the right to make entries in this directory. A read-only file system is no question of rights.
  package var mayBeWritten: Bool { [0, EROFS].contains(writeObstacle) }

  /// Whether this process has the right to make entries in the directory `path` below this one; true where there is none.
  package func mayWrite(beneath path: String) -> Bool {
    switch openBeneath(path, O_PATH | O_DIRECTORY) {
    case .success(let directory): directory.mayBeWritten
    case .failure(let error): error.number != EACCES
    }
  }

  /// Whom this directory belongs to and who asks, as two clauses; nil where its path cannot be read. (proc(5))
  var ownership: String? {
    guard let status = try? status(), let path = unsafe realpath("/proc/self/fd/\(raw)", nil) else {
      return nil
    }
    defer { unsafe free(path) }
    return
      unsafe "\(String(cString: path)) belongs to \(SystemUser.word(status.owner)), and this process runs as "
      + SystemUser.word(geteuid())
  }

  /// Makes a directory in this one. One that root makes belongs to the owner of this one, so that the programs of that owner
  /// can write there. (mkdirat(2), fchown(2))
  ///
  /// - Returns: 0 or the error number.
  func makeDirectory(_ name: String) -> Int32 {
    guard unsafe mkdirat(raw, name, 0o777) == 0 else { return errno }
    var own = stat()
    guard geteuid() == 0, unsafe fstat(raw, &own) == 0, own.st_uid != 0,
      case .success(let made) = openBeneath(name, O_RDONLY | O_DIRECTORY)
    else { return 0 }
    // Where root may not do that, the directory is of use all the same.
    _ = fchown(made.raw, own.st_uid, own.st_gid)
    return 0
  }
}
