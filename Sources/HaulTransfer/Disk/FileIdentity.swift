import Glibc
import HaulCLinux
import HaulSystem

/// Tells a file from every other, also from a later one under its name: a file system gives the number of an inode again soon
/// after the file is gone, but not with the same time of birth.
struct FileIdentity: Sendable, Hashable, Codable {
  var device: UInt64
  var inode: UInt64
  /// When the file was made, in nanoseconds since 1970; 0 where the file system does not tell.
  var born: Int64
}

extension FileDescriptor {
  /// The identity of this open file.
  func identity() throws(SystemError) -> FileIdentity {
    let status = try status()
    return FileIdentity(
      device: status.device, inode: status.inode, born: unsafe haul_birth(raw, ""))
  }
}

extension PartDirectory {
  /// Removes the finished file `name` if it is `wanted`.
  ///
  /// - Returns: false where another file or none has the name.
  @discardableResult
  func removeFile(_ name: String, _ wanted: FileIdentity) throws(TransferError) -> Bool {
    guard case .success(let file) = directory.openBeneath(name, O_PATH | O_NOFOLLOW),
      try translating(try file.identity()) == wanted
    else { return false }
    try remove(name)
    return true
  }
}
