import Glibc
import HaulCLinux
package import HaulSystem

/// Rights to write in a directory.
extension FileDescriptor {
  /// The error number that prevents this process from creating files in this directory: EACCES, EPERM or EROFS; 0 if there is
  /// none. The check writes nothing and does not notice a full or broken disk. (faccessat(2), `AT_EACCESS`)
  var writeObstacle: Int32 {
    guard unsafe faccessat(raw, ".", W_OK | X_OK, AT_EACCESS) != 0 else { return 0 }
    return [EACCES, EPERM, EROFS].contains(errno) ? errno : 0
  }

  /// Whether this process has the right to create files in this directory. A read-only file system does not change the answer.
  package var mayBeWritten: Bool { [0, EROFS].contains(writeObstacle) }

  /// Returns whether this process has the right to create files in the directory `path` below this one; true if there is no
  /// such directory.
  package func mayWrite(beneath path: String) -> Bool {
    switch openBeneath(path, O_PATH | O_DIRECTORY) {
    case .success(let directory): directory.mayBeWritten
    case .failure(let error): error.number != EACCES
    }
  }

  /// The owner of this directory and the user of this process, as two clauses; nil if the directory's path cannot be
  /// read. (proc(5))
  var ownership: String? {
    guard let status = try? status(), let path = unsafe realpath("/proc/self/fd/\(raw)", nil) else {
      return nil
    }
    defer { unsafe free(path) }
    return
      unsafe "\(String(cString: path)) belongs to \(SystemUser.word(status.owner)), and this process runs as "
      + SystemUser.word(geteuid())
  }

  /// Creates a directory in this one. If root creates it, the new directory gets the owner of this one, so that the owner's
  /// programs can write there. (mkdirat(2), fchown(2))
  ///
  /// - Returns: 0 or the error number.
  func makeDirectory(_ name: String) -> Int32 {
    guard unsafe mkdirat(raw, name, 0o777) == 0 else { return errno }
    var own = stat()
    guard geteuid() == 0, unsafe fstat(raw, &own) == 0, own.st_uid != 0,
      case .success(let made) = openBeneath(name, O_RDONLY | O_DIRECTORY)
    else { return 0 }
    // If root has no permission to change the owner, the directory is still useful.
    _ = fchown(made.raw, own.st_uid, own.st_gid)
    return 0
  }
}
