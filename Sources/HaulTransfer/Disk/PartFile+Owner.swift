import Glibc
import HaulCLinux
import HaulSystem

/// Whose a finished file is, written on it as the extended attribute `user.haul.job` (xattr(7)).
///
/// Between the moment in which a file gets its name and the one in which that is recorded, a worker may die, and the source may
/// change before the next one comes: the file is then equal to nothing that could still be fetched. Its mark tells
/// it from a stranger's. It is a help and no proof: it is missing on file systems without such attributes and on files that were changed
/// since.
extension PartFile {
  /// Marks the file as `owner`'s, as it is now; durable with its directory. That this cannot be done is no error.
  package func mark(as owner: String) {
    guard let value = try? signed(owner) else { return }
    _ = unsafe haul_set_owner(raw, value, value.utf8.count)
  }

  /// Whether `owner` has marked it, and its length and time are unchanged since.
  package func isMarked(as owner: String) throws(TransferError) -> Bool {
    let value = try signed(owner)
    return unsafe withUnsafeTemporaryAllocation(byteCount: value.utf8.count + 1, alignment: 1) {
      let length = unsafe haul_get_owner(raw, $0.baseAddress, $0.count)
      return unsafe $0.prefix(max(length, 0)).elementsEqual(value.utf8)
    }
  }

  /// The attribute's value: half of the SHA-256 of the owner and of the file's length and time. 32 bytes: of more than 64 ext4 finds
  /// room in no inode of 256, and each file takes a block more.
  private func signed(_ owner: String) throws(TransferError) -> String {
    let status = try status()
    return String(
      DigestAlgorithm.sha256(of: "\(owner) \(status.size) \(status.modified)").prefix(32))
  }
}
