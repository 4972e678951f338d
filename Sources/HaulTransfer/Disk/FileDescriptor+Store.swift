import Glibc
import HaulCLinux
package import HaulSystem

/// Operations on the directories of a store, in addition to part files: creating directories, and small files in them.
extension FileDescriptor {
  /// Opens the directory `path` below this one, and creates missing directories. Each new entry is durable on return.
  /// Follows no symbolic link.
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
        throw .file(number, "cannot create the directory \(component)", in: directory)
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

  /// Checks that the directory can be written: creates a file, syncs it and removes it. If the process dies before it removes
  /// the file, ``removeTrials()`` removes the file later.
  package func probeWriting() throws(TransferError) {
    let parts = PartDirectory(self)
    // Another machine that mounts the same store may check it at the same moment.
    let name = "\(Self.trial)\(getpid()).\(UInt32.random(in: 0 ... .max))"
    // If the file cannot be removed, an earlier step has already reported an error.
    defer { try? parts.remove(name) }
    do throws(TransferError) {
      try parts.create(name).write([UInt8](repeating: 0, count: 4096))
    } catch {
      // The name of the trial file tells the reader nothing.
      let reason = error.message.split(separator: ": ").last ?? ""
      throw TransferError(error.errorClass, "cannot write a test file: \(reason)")
    }
  }

  /// Removes the files that an interrupted ``probeWriting()`` has left in this directory. Does not disturb a check that is in
  /// progress in another process.
  package func removeTrials() throws(TransferError) {
    let parts = PartDirectory(self)
    for name in try parts.names(startingWith: Self.trial) { try parts.remove(name) }
  }

  /// Tests whether finished files can be published in this directory: creates a file, syncs it, renames it to a free name
  /// (`RENAME_NOREPLACE`) and syncs the directory. Leaves no file behind.
  ///
  /// - Returns: false if the file system does not support `RENAME_NOREPLACE`. Haul then publishes files by link and unlink.
  package func probePublishing() throws(TransferError) -> Bool {
    let parts = PartDirectory(self)
    let (name, placed) = ("probe.\(getpid())", "probe.\(getpid()).placed")
    for name in [name, placed] { try parts.remove(name) }
    // If a file cannot be removed, an earlier step has already reported an error.
    defer { for name in [name, placed] { try? parts.remove(name) } }
    try parts.create(name).write([UInt8(ascii: "\n")])
    let error = unsafe haul_renameat2(raw, name, raw, placed, 1) == 0 ? 0 : errno
    guard [0, EINVAL, ENOSYS].contains(error) else {
      throw .file(error, "cannot rename a test file")
    }
    try translating(try sync())
    return error == 0
  }

  /// Makes everything durable that any process has written to this file system. (syncfs(2))
  package func syncFileSystem() throws(TransferError) {
    while syncfs(raw) != 0 {
      if errno != EINTR { throw .file(errno, "cannot sync the file system") }
    }
  }

  /// Whether ``syncFileSystem()`` is reliable here. Two conditions must hold. Linux must report the errors of syncfs(2), as
  /// version 5.8 and later do. The file system must be ext2, ext3, ext4, XFS, Btrfs, F2FS or tmpfs. Other file systems, such
  /// as network file systems and FUSE, might not write all data to the device.
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

  /// The statfs(2) type numbers of file systems that write all data to the device: ext2 to ext4, XFS, Btrfs, F2FS, tmpfs.
  private static let syncedWhole: Set<UInt32> = [
    0xef53, 0x5846_5342, 0x9123_683e, 0xf2f5_2010, 0x0102_1994,
  ]

  /// Returns the number of bytes in the file system that are free for ordinary users, and the size of the file system in bytes.
  /// (statvfs(3))
  package func space() throws(TransferError) -> (free: Int64, total: Int64) {
    var found = statvfs()
    guard unsafe fstatvfs(raw, &found) == 0 else {
      throw .file(errno, "cannot read the free space of the disk")
    }
    // Some network file systems report an unlimited size.
    func bytes(_ blocks: UInt) -> Int64 {
      let product = blocks.multipliedReportingOverflow(by: UInt(found.f_frsize))
      return product.overflow ? .max : Int64(clamping: product.partialValue)
    }
    return (bytes(found.f_bavail), bytes(found.f_blocks))
  }

  /// Returns the length in bytes of the regular file at `path` below this directory; nil if there is no such file.
  package func fileSize(_ path: String) -> Int64? {
    guard case .success(let file) = openBeneath(path, O_PATH),
      let status = try? file.status(), status.isRegular
    else { return nil }
    return status.size
  }

  /// Opens the directory `path` below this one, and follows no symbolic link; nil if there is no such directory.
  package func directory(beneath path: String) -> FileDescriptor? {
    try? openBeneath(path, O_RDONLY | O_DIRECTORY).get()
  }

  /// Returns the names in the directory `path` below this one, unsorted; empty if there is no such directory.
  package func names(in path: String) -> [String] {
    (try? directory(beneath: path)?.names()) ?? []
  }

  /// Returns the names in the directory `path` below this one, unsorted. Returns nil if `path` is no directory or does not exist.
  /// Follows no symbolic link.
  package func listing(of path: String) throws(TransferError) -> [String]? {
    switch openBeneath(path, O_RDONLY | O_DIRECTORY) {
    case .success(let directory): try directory.names()
    case .failure(let error) where [ENOTDIR, ENOENT, ELOOP].contains(error.number): nil
    case .failure(let error): throw .file(error.number, "cannot list the directory")
    }
  }

  /// Removes the directory `path` (rmdir(2)). Follows no symbolic link on the way to the parent directory. Returns true if the
  /// directory is removed or does not exist, and false if it is not empty.
  package func removeDirectory(_ path: String) -> Bool {
    let parts = path.split(separator: "/")
    let parent = parts.dropLast().joined(separator: "/")
    guard let directory = directory(beneath: parent.isEmpty ? "." : parent) else { return true }
    return unsafe unlinkat(directory.raw, String(parts.last ?? ""), AT_REMOVEDIR) == 0
      || errno == ENOENT
  }

  /// Locks the file (flock(2)). For a shared lock, waits until no process has an exclusive lock. For an exclusive lock, does
  /// not wait: gives up this process's shared lock first, and returns false if another process has a lock. If the file system
  /// does not support locks, returns true.
  package func lock(exclusive: Bool) -> Bool {
    while flock(raw, exclusive ? LOCK_EX | LOCK_NB : LOCK_SH) != 0 {
      if errno == EWOULDBLOCK { return false }
      if errno != EINTR { return true }
    }
    return true
  }

  /// Returns the names in this directory, unsorted, without `.` and `..`.
  package func names() throws(TransferError) -> [String] {
    try PartDirectory(self).names(startingWith: "")
  }
}

extension PartDirectory {
  /// Gives the file `name` the additional name `other`, unless another file has the name `other`.
  ///
  /// - Returns: false if another file has the name `other`.
  package func linkNew(_ name: String, as other: String) throws(TransferError) -> Bool {
    if unsafe linkat(directory.raw, name, directory.raw, other, 0) == 0 { return true }
    if errno == EEXIST { return false }
    throw .file(errno, "cannot create \(other)")
  }

  /// Makes the entries of this directory durable.
  package func sync() throws(TransferError) { try translating(try directory.sync()) }
}

extension PartFile {
  /// Writes the whole content of a small file, from offset 0, and syncs the file.
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

  /// Returns whether both files are exactly `length` bytes long and have the same content.
  package func hasSameBytes(as other: PartFile, length: Int64) throws(TransferError) -> Bool {
    guard try size() == length, try other.size() == length else { return false }
    return try digest(.sha256, length: length) == other.digest(.sha256, length: length)
  }
}
