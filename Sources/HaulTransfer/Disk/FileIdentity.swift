import Glibc
import HaulCLinux
import HaulSystem

/// An identity that distinguishes a file from every other file, including a later file with the same name. After a file is
/// removed, the file system may reuse its inode number, but not with the same time of creation.
struct FileIdentity: Sendable, Hashable, Codable {
  var device: UInt64
  var inode: UInt64
  /// The time when the file was created, in nanoseconds since 1970; 0 if the file system does not report it.
  var born: Int64
}

extension FileDescriptor {
  /// Returns the identity of this open file.
  func identity() throws(SystemError) -> FileIdentity {
    var found = haul_identity()
    guard unsafe haul_identify(raw, &found) == 0 else { throw SystemError("statx") }
    return FileIdentity(device: found.device, inode: found.inode, born: found.born)
  }
}

extension PartDirectory {
  /// Removes the finished file `name` if its identity is `wanted`.
  ///
  /// - Returns: false if another file or no file has the name.
  @discardableResult
  func removeFile(_ name: String, _ wanted: FileIdentity) throws(TransferError) -> Bool {
    guard case .success(let file) = directory.openBeneath(name, O_PATH | O_NOFOLLOW),
      try translating(try file.identity()) == wanted
    else { return false }
    try remove(name)
    return true
  }
}
