import Glibc
import HaulCLinux
package import HaulSystem

/// The directory of part files, on the same file system as the finished files. Names are single path components. Every call
/// blocks.
package struct PartDirectory: Sendable {
  let directory: FileDescriptor
  /// Whether an open part file is locked, so that no other download can use it. (flock(2))
  private let locksParts: Bool
  /// The number of tries to take a lock. Default: 40 tries, with pauses of 200 ms in all.
  private let lockTries: Int
  /// The pause between two tries, in microseconds.
  private static let lockPause: UInt32 = 5000

  /// Uses `directory` for part files. If `locksParts` is true, only one download can open a part file at a time.
  package init(_ directory: FileDescriptor, locksParts: Bool = false) {
    self.init(directory, locksParts: locksParts, lockTries: 40)
  }

  init(_ directory: FileDescriptor, locksParts: Bool, lockTries: Int) {
    self.directory = directory
    self.locksParts = locksParts
    self.lockTries = lockTries
  }

  /// Creates a part file. Fails if a file with this name exists (`O_EXCL`).
  ///
  /// - Throws: `io` if the name exists, even as a symbolic link, or if the file cannot be created for another reason;
  ///   `disk_full` if the disk is full.
  package func create(_ name: String) throws(TransferError) -> PartFile {
    switch try tryCreate(name) {
    case .success(let file): return file
    case .failure(let error): throw cannotMake(name, error)
    }
  }

  /// Creates a part file. Removes any existing file with its name first.
  func createAnew(_ name: String, mode: UInt32 = 0o666) throws(TransferError) -> PartFile {
    switch try tryCreate(name, mode) {
    case .success(let file): return file
    case .failure(let error) where error.number != EEXIST: throw cannotMake(name, error)
    case .failure: try remove(name)
    }
    switch try tryCreate(name, mode) {
    case .success(let file): return file
    case .failure(let error): throw cannotMake(name, error)
    }
  }

  /// For files of at least this many bytes, Haul reserves disk space before the first byte arrives.
  static let reservedFrom: Int64 = 1 << 20

  /// Creates an empty part file, and replaces an existing file with this name. Reserves `length` bytes on the disk if the
  /// length is known and at least 1 MiB.
  ///
  /// - Throws: `disk_full` if the disk has no room for `length` bytes; `io` or a similar error if the file cannot be created.
  package func make(_ name: String, of length: Int64?) throws(TransferError) -> PartFile {
    // An existing file is from an earlier try with the same token, which this process gave up.
    let part = try createAnew(name)
    // For a small file, writing it shows early enough whether there is room.
    if let length, length >= Self.reservedFrom { try part.reserve(length) }
    return part
  }

  private func cannotMake(_ name: String, _ error: SystemError) -> TransferError {
    let place = directory.path.map { " in \($0)" } ?? ""
    return .file(error.number, "cannot create the partial file \(name)\(place)", in: directory)
  }

  private func tryCreate(
    _ name: String, _ mode: UInt32 = 0o666
  ) throws(TransferError) -> Result<PartFile, SystemError> {
    switch directory.openBeneath(name, O_RDWR | O_CREAT | O_EXCL, mode: mode) {
    case .success(let file):
      guard let part = try part(name, try translating(try file.status().inode), file) else {
        throw TransferError(.pathConflict, "the new partial file \(name) was removed")
      }
      return .success(part)
    case .failure(let error): return .failure(error)
    }
  }

  /// Returns the open part, and locks it if parts are locked. ``idleSize(_:)`` holds the lock for a moment, so this function
  /// tries several times to take the lock.
  ///
  /// - Returns: nil if ``discard(_:)`` removed the part after it was opened and before it was locked.
  private func part(
    _ name: String, _ inode: UInt64, _ file: FileDescriptor
  ) throws(TransferError) -> PartFile? {
    guard locksParts else { return PartFile(name: name, inode: inode, file: file) }
    var tries = 0
    while !file.lock(exclusive: true) {
      tries += 1
      guard tries < lockTries else {
        throw TransferError(
          .pathConflict, "another download uses the partial file \(name)")
      }
      usleep(Self.lockPause)
    }
    guard try isThere(name, inode) else { return nil }
    return PartFile(name: name, inode: inode, file: file)
  }

  private func isThere(_ name: String, _ inode: UInt64) throws(TransferError) -> Bool {
    try translating(try directory.status(of: name))?.inode == inode
  }

  /// Opens the part file that a checkpoint names.
  ///
  /// - Returns: nil if the part file must not be used: it is gone, was replaced by another file or link, has fewer than
  ///   `length` bytes, or has more than `complete` bytes (the length of the complete file). On NFS, another machine's rename
  ///   may become visible only after some time: check again before you conclude that the part file is gone.
  /// - Throws: `path_conflict` if parts are locked and another download uses this part file.
  package func open(
    _ name: String, inode: UInt64, holding length: Int64, of complete: Int64
  ) throws(TransferError) -> PartFile? {
    switch directory.openBeneath(name, O_RDWR) {
    case .success(let file):
      let status = try translating(try file.status())
      guard status.isRegular, status.inode == inode, status.size >= length, status.size <= complete
      else { return nil }
      return try part(name, inode, file)
    case .failure(let error) where [ENOENT, ELOOP, EISDIR].contains(error.number):
      return nil
    case .failure(let error):
      throw .file(error.number, "cannot open the partial file \(name)", in: directory)
    }
  }

  /// Renames a part file, so that a worker that knows only the old name cannot find the file. Replaces any other file that has
  /// the new name.
  ///
  /// - Returns: false if no file has the old name.
  package func rename(_ name: String, to other: String) throws(TransferError) -> Bool {
    if unsafe renameat(directory.raw, name, directory.raw, other) == 0 { return true }
    if errno == ENOENT { return false }
    throw .file(errno, "cannot rename the partial file \(name)", in: directory)
  }

  /// Moves a part file into another directory, durably.
  ///
  /// - Returns: false if the other directory is on another file system.
  func move(_ name: String, to other: PartDirectory) throws(TransferError) -> Bool {
    if unsafe renameat(directory.raw, name, other.directory.raw, name) != 0 {
      if errno == EXDEV { return false }
      throw .file(errno, "cannot move the partial file \(name)", in: other.directory)
    }
    try other.sync()
    return true
  }

  /// Returns the length of a part file in bytes; nil if a download uses it, or if it is not a regular file. An empty part file
  /// that is less than a second old might not be locked yet. It counts as used, and this function does not try to lock it.
  func idleSize(_ name: String) -> Int64? {
    guard case .success(let file) = directory.openBeneath(name, O_RDWR | O_NONBLOCK),
      let status = try? file.status(), status.isRegular
    else { return nil }
    var now = timespec()
    unsafe clock_gettime(CLOCK_REALTIME, &now)
    let age = Int64(now.tv_sec) * 1_000_000_000 + Int64(now.tv_nsec) - status.modified
    if status.size == 0, (0..<1_000_000_000).contains(age) { return nil }
    return file.lock(exclusive: true) ? status.size : nil
  }

  /// Removes a part file that no download uses.
  ///
  /// - Returns: false if the file is missing, if a download uses it, if it is not a regular file, or if its inode number is not
  ///   `inode`.
  @discardableResult
  func discard(_ name: String, inode: UInt64? = nil) throws(TransferError) -> Bool {
    guard case .success(let file) = directory.openBeneath(name, O_RDWR | O_NONBLOCK),
      let status = try? file.status(), status.isRegular, inode ?? status.inode == status.inode,
      file.lock(exclusive: true), try isThere(name, status.inode)
    else { return false }
    try remove(name)
    return true
  }

  /// Removes a part file. A missing part file is not an error.
  package func remove(_ name: String) throws(TransferError) {
    if unsafe unlinkat(directory.raw, name, 0) != 0, errno != ENOENT {
      throw .file(errno, "cannot remove the partial file \(name)", in: directory)
    }
  }

  /// Returns the names that start with `prefix`, unsorted.
  package func names(startingWith prefix: String) throws(TransferError) -> [String] {
    // This needs a second descriptor: reading moves the descriptor's position, and closedir(3) closes it.
    let own = unsafe haul_open_beneath(directory.raw, ".", O_RDONLY | O_DIRECTORY, 0)
    guard own >= 0, let stream = unsafe fdopendir(own) else {
      throw .file(errno, "cannot list the partial files")
    }
    defer { unsafe closedir(stream) }
    var names: [String] = []
    while true {
      errno = 0
      guard let entry = unsafe readdir(stream) else { break }
      let name = unsafe withUnsafePointer(to: &entry.pointee.d_name) { name in
        unsafe name.withMemoryRebound(to: CChar.self, capacity: 256) { unsafe String(cString: $0) }
      }
      if name.hasPrefix(prefix), name != ".", name != ".." { names.append(name) }
    }
    // Only errno distinguishes the end from a failure. (readdir(3))
    guard errno == 0 else { throw .file(errno, "cannot list the partial files") }
    return names
  }
}
