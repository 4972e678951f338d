import Glibc
import HaulCLinux
import HaulSystem

/// An incomplete file, open for reading and writing at offsets. Every call blocks: run them on an
/// ``IOPool``.
package final class PartFile: Sendable {
  /// The file's name in its directory when it was opened.
  package let name: String
  /// Tells it from another file that gets its name later.
  package let inode: UInt64
  /// When it was opened: fsync(2) reports what fails to be written from then on.
  package let openedAt = ContinuousClock.now
  private let file: FileDescriptor

  init(name: String, inode: UInt64, file: FileDescriptor) {
    self.name = name
    self.inode = inode
    self.file = file
  }

  /// A file that is in memory alone, and gone with this object. (memfd_create(2))
  static func inMemory(_ name: String) throws(TransferError) -> PartFile {
    let raw = unsafe haul_memory_file(name)
    guard raw >= 0 else { throw .file(errno, "cannot make a file in memory") }
    let file = FileDescriptor(owning: raw)
    return PartFile(name: name, inode: try translating(try file.status().inode), file: file)
  }

  /// pwrite(2) of all `bytes` at `offset`; not durable on return.
  ///
  /// - Throws: `disk_full`, `io`. Some of the bytes may be written then.
  func write(_ bytes: UnsafeRawBufferPointer, at offset: Int64) throws(TransferError) {
    var done = 0
    while done < bytes.count {
      let rest = unsafe UnsafeRawBufferPointer(rebasing: bytes[done...])
      let count = unsafe pwrite(file.raw, rest.baseAddress, rest.count, off_t(offset) + done)
      if count < 0 {
        if errno == EINTR { continue }
        throw .file(errno, "cannot write the partial file \(name)")
      }
      done += count
    }
  }

  /// TMPFS_MAGIC of statfs(2).
  private static let tmpfs: UInt32 = 0x0102_1994

  /// Has the file system set `length` bytes aside for the new file, so that a disk without room for it says
  /// so before anything is fetched. The size of the file stays. (fallocate(2), `FALLOC_FL_KEEP_SIZE`)
  ///
  /// Where the file system cannot do that, it is only asked how much is free.
  ///
  /// - Throws: `disk_full`, which says how much is missing.
  func reserve(_ length: Int64) throws(TransferError) {
    var error = EOPNOTSUPP
    // A tmpfs would fill memory with zeros for it, which takes as long as to write them.
    if haul_file_system(file.raw) != Self.tmpfs {
      repeat { error = haul_reserve(file.raw, length) } while error == EINTR
    }
    guard error != 0 else { return }
    if let shortage = Self.shortage(of: length, after: error, free: try file.space().free) {
      throw shortage
    }
  }

  /// Why there is no room for `length` bytes, after fallocate(2) has failed with `error`; nil where there may be.
  static func shortage(of length: Int64, after error: Int32, free: Int64) -> TransferError? {
    switch error {
    // What a quota leaves is less than what is free.
    case EDQUOT:
      TransferError(
        .diskFull, "the file takes \(mebibytes(length)) MiB, and a quota leaves less")
    case let error where [ENOSPC, EFBIG].contains(error) || free < length:
      TransferError(
        .diskFull,
        "the file takes \(mebibytes(length)) MiB, and the disk has room for \(free >> 20) MiB"
      )
    default: nil
    }
  }

  /// `length` in MiB, rounded up.
  private static func mebibytes(_ length: Int64) -> Int64 {
    (length >> 20) + (length & 0xf_ffff == 0 ? 0 : 1)
  }

  /// pread(2) at `offset` until `buffer` is full or the file ends.
  ///
  /// - Returns: the number of bytes read.
  func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws(TransferError)
    -> Int
  {
    var done = 0
    while done < buffer.count {
      let rest = unsafe UnsafeMutableRawBufferPointer(rebasing: buffer[done...])
      let count = unsafe pread(file.raw, rest.baseAddress, rest.count, off_t(offset) + done)
      if count < 0 {
        if errno == EINTR { continue }
        throw .file(errno, "cannot read the partial file \(name)")
      }
      if count == 0 { break }
      done += count
    }
    return done
  }

  /// Whether the file holds exactly `bytes` at `offset`. A file that ends before does not.
  func holds(_ bytes: UnsafeRawBufferPointer, at offset: Int64) throws(TransferError) -> Bool {
    let copy = UnsafeMutableRawBufferPointer.allocate(byteCount: bytes.count, alignment: 16)
    defer { unsafe copy.deallocate() }
    guard try unsafe read(into: copy, at: offset) == bytes.count else { return false }
    guard let one = bytes.baseAddress, let other = copy.baseAddress else {
      return true
    }
    return unsafe memcmp(one, other, bytes.count) == 0
  }

  /// fdatasync(2): everything written before is durable on return.
  package func syncData() throws(TransferError) { try translating(try file.syncData()) }

  /// fsync(2): everything written before is durable on return, times and rights too.
  package func sync() throws(TransferError) { try translating(try file.sync()) }

  /// Sets the modification time, in seconds since 1970. Durable after the next ``sync()``. (futimens(2))
  func setModified(_ seconds: Int64) throws(TransferError) {
    guard haul_set_modified(file.raw, seconds) == 0 else {
      throw .file(errno, "cannot set the time of the partial file \(name)")
    }
  }

  /// Releases the lock that its ``PartDirectory`` may have taken, so that another download can use the file at once.
  func unlock() { _ = flock(file.raw, LOCK_UN) }

  /// The descriptor; valid while this object lives.
  var raw: Int32 { file.raw }

  /// What the kernel knows about it.
  func status() throws(TransferError) -> FileStatus { try translating(try file.status()) }

  /// Which file it is, whatever its name.
  func identity() throws(TransferError) -> FileIdentity { try translating(try file.identity()) }

  /// The file's size in bytes, which says nothing about progress.
  package func size() throws(TransferError) -> Int64 { try translating(try file.status().size) }

  /// The digest of the first `length` bytes, read back in blocks of 1 MiB.
  ///
  /// - Parameter isWanted: asked before each block.
  /// - Throws: `io` where the file ends before; `digest` where libcrypto lacks the algorithm;
  ///   `cancelled` once it is not wanted.
  package func digest(
    _ algorithm: DigestAlgorithm, length: Int64, while isWanted: () -> Bool = { true }
  ) throws(TransferError) -> [UInt8] {
    let context = try DigestContext(algorithm)
    try add(0..<length, to: [context], while: isWanted)
    return context.finish()
  }

  /// Adds the bytes of `range` to digests, read back once in blocks of 1 MiB.
  ///
  /// - Parameter isWanted: asked before each block.
  /// - Throws: `io` where the file ends before; `cancelled` once it is not wanted.
  func add(
    _ range: Range<Int64>, to contexts: [DigestContext], while isWanted: () -> Bool
  ) throws(TransferError) {
    let block = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 20, alignment: 4096)
    defer { unsafe block.deallocate() }
    var offset = range.lowerBound
    while offset < range.upperBound {
      guard isWanted() else { throw TransferError(.cancelled, "the digest is no longer wanted") }
      let wanted = Int(min(Int64(block.count), range.upperBound - offset))
      let part = unsafe UnsafeMutableRawBufferPointer(rebasing: block[..<wanted])
      guard try unsafe read(into: part, at: offset) == wanted else {
        throw TransferError(.io, "the file \(name) ends before byte \(range.upperBound)")
      }
      for context in contexts { unsafe context.update(UnsafeRawBufferPointer(part)) }
      offset += Int64(wanted)
    }
  }
}
