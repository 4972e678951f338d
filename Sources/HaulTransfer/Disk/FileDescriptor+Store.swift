import Glibc
import HaulCLinux
package import HaulSystem

/// What the owner of a store needs besides part files: directories made, and small files in them.
extension FileDescriptor {
  /// Opens the directory `path` below this one and makes what is missing of it; each new entry is durable on
  /// return. Follows no symbolic link.
  package func makeDirectories(_ path: String) throws(TransferError) -> FileDescriptor {
    if case .success(let directory) = openBeneath(path, O_RDONLY | O_DIRECTORY) {
      return directory
    }
    var directory = self
    for component in path.split(separator: "/").map(String.init) {
      switch directory.makeDirectory(component) {
      case 0: try translating(try directory.sync())
      case EEXIST: break
      case let number:
        throw .file(number, "cannot make the directory \(component)", in: directory)
      }
      switch directory.openBeneath(component, O_RDONLY | O_DIRECTORY) {
      case .success(let next): directory = next
      case .failure(let error):
        throw .file(error.number, "cannot open the directory \(component)", in: directory)
      }
    }
    return directory
  }

  private static let trial = "trial."

  /// Makes a file in this directory, syncs it and removes it, to see that it can be written. Where the process dies meanwhile it
  /// stays: see ``removeTrials()``.
  package func probeWriting() throws(TransferError) {
    let parts = PartDirectory(self)
    // Another machine that mounts the same store may look at the same moment.
    let name = "\(Self.trial)\(getpid()).\(UInt32.random(in: 0 ... .max))"
    // What cannot be removed has failed in a way that is told already.
    defer { try? parts.remove(name) }
    do throws(TransferError) {
      try parts.create(name).write([UInt8](repeating: 0, count: 4096))
    } catch {
      // The probe's name says nothing to anybody.
      let reason = error.message.split(separator: ": ").last ?? ""
      throw TransferError(error.errorClass, "no file can be written there: \(reason)")
    }
  }

  /// Removes what ``probeWriting()`` may have left in this directory. One that is under way somewhere else does not mind.
  package func removeTrials() throws(TransferError) {
    let parts = PartDirectory(self)
    for name in try parts.names(startingWith: Self.trial) { try parts.remove(name) }
  }

  /// Does in this directory what publishing a result does: makes a file, syncs it, renames it to where nothing is
  /// (`RENAME_NOREPLACE`) and syncs the directory. Nothing is left behind.
  ///
  /// - Returns: false where the file system refuses that flag; results are then published by link and unlink.
  package func probePublishing() throws(TransferError) -> Bool {
    let parts = PartDirectory(self)
    let (name, placed) = ("probe.\(getpid())", "probe.\(getpid()).placed")
    for name in [name, placed] { try parts.remove(name) }
    // What cannot be removed has failed in a way that is told already.
    defer { for name in [name, placed] { try? parts.remove(name) } }
    try parts.create(name).write([UInt8(ascii: "\n")])
    let error = unsafe haul_renameat2(raw, name, raw, placed, 1) == 0 ? 0 : errno
    guard [0, EINVAL, ENOSYS].contains(error) else { throw .file(error, "cannot rename a file") }
    try translating(try sync())
    return error == 0
  }

  /// syncfs(2): everything that was written to its file system, by anybody, is durable on return.
  package func syncFileSystem() throws(TransferError) {
    while syncfs(raw) != 0 {
      if errno != EINTR { throw .file(errno, "cannot sync the file system") }
    }
  }

  /// Whether ``syncFileSystem()`` can be relied on here: it reports errors (Linux 5.8 or later), and the file system is one
  /// whose data it is known to write to the device: over a network or FUSE it may not be.
  package var syncsFileSystem: Bool {
    var system = utsname()
    guard unsafe uname(&system) == 0 else { return false }
    let release = unsafe withUnsafeBytes(of: &system.release) { text in
      unsafe text.prefix { $0 != 0 }.split { !(48...57).contains($0) }.prefix(2).map {
        unsafe Int(String(decoding: $0, as: UTF8.self)) ?? 0
      }
    }
    return !release.lexicographicallyPrecedes([5, 8])
      && Self.syncedWhole.contains(haul_file_system(raw))
  }

  /// statfs(2): ext2 to ext4, XFS, Btrfs, F2FS, tmpfs.
  private static let syncedWhole: Set<UInt32> = [
    0xef53, 0x5846_5342, 0x9123_683e, 0xf2f5_2010, 0x0102_1994,
  ]

  /// Bytes that its file system has for ordinary users, and in all. (statvfs(3))
  package func space() throws(TransferError) -> (free: Int64, total: Int64) {
    var found = statvfs()
    guard unsafe fstatvfs(raw, &found) == 0 else { throw .file(errno, "cannot look at the disk") }
    // Some file systems of networks say that they have no end.
    func bytes(_ blocks: UInt) -> Int64 {
      let product = blocks.multipliedReportingOverflow(by: UInt(found.f_frsize))
      return product.overflow ? .max : Int64(clamping: product.partialValue)
    }
    return (bytes(found.f_bavail), bytes(found.f_blocks))
  }

  /// The length in bytes of the regular file at `path` below this directory; nil where there is none.
  package func fileSize(_ path: String) -> Int64? {
    guard case .success(let file) = openBeneath(path, O_PATH),
      let status = try? file.status(), status.isRegular
    else { return nil }
    return status.size
  }

  /// Opens the directory `path` below this one, following no symbolic link; nil where there is none.
  package func directory(beneath path: String) -> FileDescriptor? {
    try? openBeneath(path, O_RDONLY | O_DIRECTORY).get()
  }

  /// The names in the directory `path` below this one, in no order; none where there is no such directory.
  package func names(in path: String) -> [String] {
    (try? directory(beneath: path)?.names()) ?? []
  }

  /// rmdir(2) of `path`, whose parent follows no symbolic link. False where it is not empty; one that is not there
  /// is true.
  package func removeDirectory(_ path: String) -> Bool {
    let parts = path.split(separator: "/")
    let parent = parts.dropLast().joined(separator: "/")
    guard let directory = directory(beneath: parent.isEmpty ? "." : parent) else { return true }
    return unsafe unlinkat(directory.raw, String(parts.last ?? ""), AT_REMOVEDIR) == 0
      || errno == ENOENT
  }

  /// flock(2): shared waits for an exclusive owner. Exclusive does not wait: it gives up a shared lock first, and returns false
  /// if another process has the lock. A file system without locks grants everything.
  package func lock(exclusive: Bool) -> Bool {
    while flock(raw, exclusive ? LOCK_EX | LOCK_NB : LOCK_SH) != 0 {
      if errno == EWOULDBLOCK { return false }
      if errno != EINTR { return true }
    }
    return true
  }

  /// The names in this directory, in no order, without `.` and `..`.
  package func names() throws(TransferError) -> [String] {
    try PartDirectory(self).names(startingWith: "")
  }
}

extension PartDirectory {
  /// Gives the file `name` the further name `other`, unless that is taken.
  ///
  /// Returns false where it is taken.
  package func linkNew(_ name: String, as other: String) throws(TransferError) -> Bool {
    if unsafe linkat(directory.raw, name, directory.raw, other, 0) == 0 { return true }
    if errno == EEXIST { return false }
    throw .file(errno, "cannot make \(other)")
  }

  /// Makes the entries of this directory durable.
  package func sync() throws(TransferError) { try translating(try directory.sync()) }
}

extension PartFile {
  /// Writes a small file whole, from 0, and syncs it.
  package func write(_ bytes: [UInt8]) throws(TransferError) {
    let error = unsafe bytes.withUnsafeBytes { bytes -> TransferError? in
      do throws(TransferError) {
        try unsafe write(bytes, at: 0)
        return nil
      } catch {
        return error
      }
    }
    if let error { throw error }
    try sync()
  }

  /// Whether the first `length` bytes of both files are the same and neither goes on.
  package func hasSameBytes(as other: PartFile, length: Int64) throws(TransferError) -> Bool {
    guard try size() == length, try other.size() == length else { return false }
    return try digest(.sha256, length: length) == other.digest(.sha256, length: length)
  }
}
