import Glibc
import HaulCLinux
import HaulSystem

/// The owner of a finished file, as the extended attribute `user.haul.job` of the file (xattr(7)).
///
/// A worker may die after a file gets its name, and before the worker records that. If the source then changes, the file no
/// longer equals anything that can be downloaded. In this case the mark shows that the file is Haul's. A missing mark proves
/// nothing: some file systems have no such attributes, and a changed file loses its mark.
extension PartFile {
  /// Marks the file, in its present state, as the result of `owner`. The mark becomes durable when the directory is synced. A
  /// failure is not an error.
  package func mark(as owner: String) {
    guard let value = try? signed(owner) else { return }
    _ = unsafe haul_set_owner(raw, value, value.utf8.count)
  }

  /// Returns true if `owner` has marked the file and the file's length and modification time have not changed since.
  package func isMarked(as owner: String) throws(TransferError) -> Bool {
    let value = try signed(owner)
    return unsafe withUnsafeTemporaryAllocation(byteCount: value.utf8.count + 1, alignment: 1) {
      let length = unsafe haul_get_owner(raw, $0.baseAddress, $0.count)
      return unsafe $0.prefix(max(length, 0)).elementsEqual(value.utf8)
    }
  }

  /// Returns the attribute's value: half of the SHA-256 of the owner and of the file's length and time. It has 32 bytes. More
  /// than 64 bytes would not fit into a 256-byte inode of ext4, and each file would take another block.
  private func signed(_ owner: String) throws(TransferError) -> String {
    let status = try status()
    return String(
      DigestAlgorithm.sha256(of: "\(owner) \(status.size) \(status.modified)").prefix(32))
  }
}
