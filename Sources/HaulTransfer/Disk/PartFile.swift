import Glibc
import HaulCLinux
import HaulSystem

/// An incomplete file, open for reading and writing at byte offsets. Every call blocks: run calls on an ``IOPool``.
package final class PartFile: Sendable {
  /// The name of the file in its directory at the time when it was opened.
  package let name: String
  /// The inode number, which distinguishes the file from a later file with its name.
  package let inode: UInt64
  /// The time when the file was opened. fsync(2) reports only write errors that happened after this time.
  package let openedAt = ContinuousClock.now
  private let file: FileDescriptor

  init(name: String, inode: UInt64, file: FileDescriptor) {
    self.name = name
    self.inode = inode
    self.file = file
  }

  /// Creates a file that exists only in memory, and only as long as this object. (memfd_create(2))
  static func inMemory(_ name: String) throws(TransferError) -> PartFile {
    let raw = unsafe haul_memory_file(name)
    guard raw >= 0 else { throw .file(errno, "cannot create a file in memory") }
    let file = FileDescriptor(owning: raw)
    return PartFile(name: name, inode: try translating(try file.status().inode), file: file)
  }

  /// Writes all `bytes` at `offset` with pwrite(2). They are not durable on return.
  ///
  /// - Throws: `disk_full` or `io`. In this case, some of the bytes may have been written.
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

  /// Reserves `length` bytes on the disk for the new file, so that a lack of space shows before the download begins. The size
  /// of the file does not change. (fallocate(2), `FALLOC_FL_KEEP_SIZE`)
  ///
  /// If the file system cannot reserve bytes, this only checks how much is free.
  ///
  /// - Throws: `disk_full`. The message says how much space the file needs.
  func reserve(_ length: Int64) throws(TransferError) {
    var error = EOPNOTSUPP
    // A tmpfs would fill memory with zeros, which takes as long as writing them.
    if haul_file_system(file.raw) != Self.tmpfs {
      repeat { error = haul_reserve(file.raw, length) } while error == EINTR
    }
    guard error != 0 else { return }
    if let shortage = Self.shortage(of: length, after: error, free: try file.space().free) {
      throw shortage
    }
  }

  /// Returns the `disk_full` error if the disk has no room for `length` bytes, after fallocate(2) has failed with `error`; nil
  /// if there may be room.
  static func shortage(of length: Int64, after error: Int32, free: Int64) -> TransferError? {
    switch error {
    // A quota leaves less than the free space.
    case EDQUOT:
      TransferError(
        .diskFull, "the file needs \(mebibytes(length)) MiB, but the disk quota leaves less space")
    case let error where [ENOSPC, EFBIG].contains(error) || free < length:
      TransferError(
        .diskFull,
        "the file needs \(mebibytes(length)) MiB, but the disk has only \(free >> 20) MiB free"
      )
    default: nil
    }
  }

  /// Returns `length` in MiB, rounded up.
  private static func mebibytes(_ length: Int64) -> Int64 {
    (length >> 20) + (length & 0xf_ffff == 0 ? 0 : 1)
  }

  /// Reads with pread(2) from `offset` until `buffer` is full or the file ends.
  ///
  /// - Returns: The number of bytes read.
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

  /// Returns whether the file holds exactly `bytes` at `offset`; false if the file ends earlier.
  func holds(_ bytes: UnsafeRawBufferPointer, at offset: Int64) throws(TransferError) -> Bool {
    let copy = UnsafeMutableRawBufferPointer.allocate(byteCount: bytes.count, alignment: 16)
    defer { unsafe copy.deallocate() }
    guard try unsafe read(into: copy, at: offset) == bytes.count else { return false }
    guard let one = bytes.baseAddress, let other = copy.baseAddress else {
      return true
    }
    return unsafe memcmp(one, other, bytes.count) == 0
  }

  /// Makes all earlier writes to the file durable. (fdatasync(2))
  package func syncData() throws(TransferError) { try translating(try file.syncData()) }

  /// Makes all earlier writes to the file durable, with its times and permissions. (fsync(2))
  package func sync() throws(TransferError) { try translating(try file.sync()) }

  /// Sets the modification time, in seconds since 1970. Durable after the next ``sync()``. (futimens(2))
  func setModified(_ seconds: Int64) throws(TransferError) {
    guard haul_set_modified(file.raw, seconds) == 0 else {
      throw .file(errno, "cannot set the modification time of the partial file \(name)")
    }
  }

  /// Releases the lock that the ``PartDirectory`` may have taken, so that another download can use the file immediately.
  func unlock() { _ = flock(file.raw, LOCK_UN) }

  /// The raw descriptor; valid while this object lives.
  var raw: Int32 { file.raw }

  /// Returns the size, times and owner of the file. (fstat(2))
  func status() throws(TransferError) -> FileStatus { try translating(try file.status()) }

  /// Returns the identity of the file, which does not depend on its name.
  func identity() throws(TransferError) -> FileIdentity { try translating(try file.identity()) }

  /// Returns the file's size in bytes. The size does not show the progress of the download.
  package func size() throws(TransferError) -> Int64 { try translating(try file.status().size) }

  /// Computes the digest of the first `length` bytes. Reads these bytes from the disk in blocks of 1 MiB.
  ///
  /// - Parameter isWanted: Called before each block. If this function returns false, the computation ends.
  /// - Throws: `io` if the file has fewer than `length` bytes; `digest` if libcrypto lacks the algorithm; `cancelled` if
  ///   `isWanted` returns false.
  package func digest(
    _ algorithm: DigestAlgorithm, length: Int64, while isWanted: () -> Bool = { true }
  ) throws(TransferError) -> [UInt8] {
    let context = try DigestContext(algorithm)
    try add(0..<length, to: [context], while: isWanted)
    return context.finish()
  }

  /// Adds the bytes of `range` to digests. Reads the bytes back once, in blocks of 1 MiB.
  ///
  /// - Parameter isWanted: Called before each block. If this function returns false, the computation ends.
  /// - Throws: `io` if the file ends before the range does; `cancelled` if `isWanted` returns false.
  func add(
    _ range: Range<Int64>, to contexts: [DigestContext], while isWanted: () -> Bool
  ) throws(TransferError) {
    let block = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 20, alignment: 4096)
    defer { unsafe block.deallocate() }
    var offset = range.lowerBound
    while offset < range.upperBound {
      guard isWanted() else { throw TransferError(.cancelled, "the digest is no longer needed") }
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
