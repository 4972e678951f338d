import Glibc
import HaulCLinux
package import HaulSystem

/// The action if a file with the final name already exists.
public enum CollisionPolicy: String, Sendable, CaseIterable {
  /// Fail with the error class `exists`.
  case fail
  /// Keep the existing file, and count the download as done.
  case skip
  /// Replace the existing file, in one step.
  case replace
  /// Use the next free name: `a.1.txt`, `a.2.txt`, …
  case rename
}

/// The directory tree in which Haul publishes finished files: Haul gives the files their final names there. Haul creates,
/// opens and renames no file outside the tree, and follows no symbolic link. Every call blocks.
///
/// To publish a file, call `makeParent`, `place` and then `Parent.sync`. These steps are separate for two reasons. Before
/// `place`, a caller can record that it is about to publish the file. After `place`, a caller can sync the directories of many
/// files in one call.
package struct Destination: Sendable {
  /// The signature of renameat2(2): descriptor and name of the old and of the new place, then flags. It returns 0 or
  /// the error number.
  typealias Rename = @Sendable (FileDescriptor, String, FileDescriptor, String, UInt32) -> Int32

  private let root: FileDescriptor
  private let isRootShared: Bool
  private let renameat2: Rename
  private let durable = DurableDirectories()

  /// Creates a destination for finished files below `root`.
  ///
  /// - Parameter isRootShared: Whether several calls at a time may sync `root`. Only one of them would get a write error, so
  ///   each call then opens the directory again. (errseq_t of Linux)
  package init(root: FileDescriptor, isRootShared: Bool = true) {
    self.init(root: root, isRootShared: isRootShared, renameat2: Self.systemRename)
  }

  /// Creates a destination for finished files below `root`, which `renameat2` renames. Tests pass a function that refuses its
  /// flags, as some file systems do.
  init(root: FileDescriptor, isRootShared: Bool = true, renameat2: @escaping Rename) {
    self.root = root
    self.isRootShared = isRootShared
    self.renameat2 = renameat2
  }

  /// A directory for one or more finished files.
  package struct Parent: Sendable {
    let directory: FileDescriptor
    /// The directory's identity. It is equal for two `Parent` values of the same directory.
    package let identity: Identity
    /// The directories on the path whose entries might not be durable yet, because the process that created them might not have
    /// synced them.
    let unsynced: [FileDescriptor]
    let path: String
    let durable: DurableDirectories

    /// An identifier of a directory. No two directories that exist at the same time have the same identifier.
    package struct Identity: Hashable, Sendable {
      fileprivate let device: UInt64
      fileprivate let inode: UInt64
    }

    static func identity(of directory: FileDescriptor) throws(TransferError) -> Identity {
      let status = try translating(try directory.status())
      return Identity(device: status.device, inode: status.inode)
    }

    /// Makes the names in this directory, and the directory itself, durable.
    package func sync() throws(TransferError) { try Self.sync([self]) }

    /// Syncs each of `parents` as ``sync()`` does, but each directory only once.
    package static func sync(_ parents: [Parent]) throws(TransferError) {
      guard let first = parents.first else { return }
      try translating(try first.directory.sync())
      var synced: Set<Identity> = [first.identity]
      for directory in parents.flatMap(\.unsynced)
      where synced.insert(try identity(of: directory)).inserted {
        try translating(try directory.sync())
      }
      for parent in parents { parent.isDurable() }
    }

    /// Records that this directory and the directories above it are durable, because the caller has already synced them. Later
    /// calls of ``sync()`` for this directory then do not sync the directories above it.
    package func isDurable() { durable.insert(path, identity) }
  }

  /// The result of placing a file.
  package enum Placement: Sendable, Equatable {
    /// The file is now at this path.
    case placed(RelativePath)
    /// Another file has the final name, and the policy is `skip`. The part file still exists.
    case skipped
    /// The part file no longer has its name, because another worker has taken the part file over. This is not a disk error. On
    /// NFS, check again before you rely on this result.
    case partMissing
  }

  /// Opens the directory of `path`. Creates this directory and the directories above if they are missing.
  ///
  /// - Throws: `path_conflict` if a file or a symbolic link is in the way.
  package func makeParent(of path: RelativePath) throws(TransferError) -> Parent {
    if !isRootShared, path.components.count == 1 { return try parent(root, [], of: path) }
    switch root.openBeneath(path.directory, O_RDONLY | O_DIRECTORY) {
    case .success(let directory):
      let identity = try Parent.identity(of: directory)
      if path.components.count == 1 || durable.contains(path.directory, identity) {
        return Parent(
          directory: directory, identity: identity, unsynced: [], path: path.directory,
          durable: durable)
      }
    case .failure(let error) where error.number != ENOENT:
      throw try failure(error.number, path)
    case .failure: break
    }
    var directory = root
    if isRootShared {
      directory = try translating(try root.openBeneath(".", O_RDONLY | O_DIRECTORY).get())
    }
    var unsynced: [FileDescriptor] = []
    for component in path.components.dropLast() {
      unsynced.append(directory)
      let number = directory.makeDirectory(component)
      guard number == 0 || number == EEXIST else {
        throw .file(number, "cannot create the directory \(component) of \(path)", in: directory)
      }
      switch directory.openBeneath(component, O_RDONLY | O_DIRECTORY) {
      case .success(let next): directory = next
      case .failure(let error):
        throw .file(
          error.number, "cannot open the directory \(component) of \(path)", in: directory)
      }
    }
    return try parent(directory, unsynced, of: path)
  }

  private func parent(
    _ directory: FileDescriptor, _ unsynced: [FileDescriptor], of path: RelativePath
  ) throws(TransferError) -> Parent {
    Parent(
      directory: directory, identity: try Parent.identity(of: directory), unsynced: unsynced,
      path: path.directory, durable: durable)
  }

  /// Checks whether this process may create a file at `path` and the missing directories above the file. The check creates
  /// nothing, so it may miss problems.
  ///
  /// - Throws: `not_permitted` if the process lacks the right.
  package func requireRight(toMake path: RelativePath) throws(TransferError) {
    var above = path.components.dropLast()
    while true {
      if above.isEmpty { return try requireRight(toMake: path, in: root) }
      switch root.openBeneath(above.joined(separator: "/"), O_PATH | O_DIRECTORY) {
      case .success(let directory): return try requireRight(toMake: path, in: directory)
      // The directory does not exist yet, or is below a directory that this user has no permission to enter.
      case .failure(let error) where [ENOENT, EACCES].contains(error.number):
        above.removeLast()
      // Other errors show when the directories are made.
      case .failure: return
      }
    }
  }

  private func requireRight(
    toMake path: RelativePath, in directory: FileDescriptor
  ) throws(TransferError) {
    let number = directory.writeObstacle
    if number != 0 {
      throw .file(number, "cannot move the finished file to \(path)", in: directory)
    }
  }

  /// Returns why the directory of `path` cannot be opened.
  private func failure(_ number: Int32, _ path: RelativePath) throws(TransferError) -> TransferError
  {
    // requireRight throws an error that names the directory that this user has no permission to enter.
    if number == EACCES { try requireRight(toMake: path) }
    return .file(number, "cannot open the directory of \(path)")
  }

  /// Gives the part file its final name in one step. If the file system cannot do that, this function uses link and unlink. The
  /// caller syncs the file's bytes before this call and the parent directory afterwards. If the part's name is gone or belongs
  /// to another file, another worker has taken the part file over. The call then changes nothing and returns `partMissing`.
  ///
  /// - Throws: `exists` if another file has the final name and the policy is `fail`; `path_conflict` if a directory has the
  ///   name.
  package func place(
    part: String, inode: UInt64, of parts: PartDirectory, at path: RelativePath, in parent: Parent,
    policy: CollisionPolicy
  ) throws(TransferError) -> Placement {
    guard try translating(try parts.directory.status(of: part))?.inode == inode else {
      return .partMissing
    }
    var candidate = path
    var number = 0
    while true {
      switch move(part, of: parts, to: candidate.name, in: parent, replacing: policy == .replace) {
      case 0:
        return .placed(candidate)
      case EEXIST where policy == .rename && number < 9999:
        number += 1
        candidate = path.numbered(number)
      case EEXIST:
        if try translating(try parent.directory.status(of: candidate.name))?.isDirectory == true {
          throw .directory(candidate)
        }
        if policy == .skip { return .skipped }
        throw .exists(candidate)
      case let error:
        if error == ENOENT, try translating(try parts.directory.status(of: part)) == nil {
          return .partMissing
        }
        if error == EISDIR { throw .directory(candidate) }
        throw .file(
          error, "cannot move the finished file to \(candidate)", in: parent.directory)
      }
    }
  }

  /// Finds the file that an earlier call of ``place(part:of:at:in:policy:)`` may have renamed to `path` or to a numbered name.
  /// The process that made that call may have died before it confirmed the rename.
  ///
  /// - Returns: The path of the file for which `isWanted` returns true; nil if there is no such file. With the policy `rename`,
  ///   this function also checks numbered names up to the first free one.
  package func find(
    _ path: RelativePath, policy: CollisionPolicy,
    where isWanted: (PartFile) throws(TransferError) -> Bool
  ) throws(TransferError) -> RelativePath? {
    var candidate = path
    var number = 0
    while let file = try open(candidate) {
      if try isWanted(file) { return candidate }
      guard policy == .rename, number < 9999 else { return nil }
      number += 1
      candidate = path.numbered(number)
    }
    return nil
  }

  /// The kind of file that exists under a name.
  package enum Occupant: Sendable, Equatable {
    case file(length: Int64)
    case directory
    /// A file of a kind other than regular file and directory, such as a symbolic link or a socket.
    case other
  }

  /// Returns which kind of file exists at `path`, without opening it; nil if no file exists.
  ///
  /// - Throws: `path_conflict` if a file or a symbolic link is in place of a directory above `path`.
  package func occupant(of path: RelativePath) throws(TransferError) -> Occupant? {
    switch root.openBeneath(path.description, O_PATH | O_NOFOLLOW) {
    case .success(let found):
      let status = try translating(try found.status())
      if status.isDirectory { return .directory }
      return status.isRegular ? .file(length: status.size) : .other
    case .failure(let error) where error.number == ENOENT: return nil
    case .failure(let error): throw try failure(error.number, path)
    }
  }

  /// Opens a finished file for reading, to check its length and digest.
  ///
  /// - Returns: The file; nil if no regular file is at `path`.
  package func open(_ path: RelativePath) throws(TransferError) -> PartFile? {
    switch root.openBeneath(path.description, O_RDONLY | O_NONBLOCK) {
    case .success(let file):
      let status = try translating(try file.status())
      return status.isRegular
        ? PartFile(name: path.description, inode: status.inode, file: file) : nil
    // ENXIO: a socket.
    case .failure(let error) where [ENOENT, ENOTDIR, ELOOP, ENXIO].contains(error.number):
      return nil
    case .failure(let error):
      throw .file(error.number, "cannot open \(path)")
    }
  }

  /// Renames a damaged finished file to `….damaged` in the same directory, and replaces an earlier file of that name.
  /// The new name is durable on return. It is not an error if no file exists.
  package func setAside(_ path: RelativePath) throws(TransferError) {
    let parent = try makeParent(of: path)
    let error = renameat2(
      parent.directory, path.name, parent.directory, path.damagedName, 0)
    if error != 0 && error != ENOENT {
      throw .file(error, "cannot rename \(path) to \(path.damagedName)")
    }
    try parent.sync()
  }

  /// Moves the part file to its final name. Returns 0 or the error number: EEXIST if the name is taken and replacing is not
  /// allowed.
  private func move(
    _ part: String, of parts: PartDirectory, to name: String, in parent: Parent, replacing: Bool
  ) -> Int32 {
    let noReplace: UInt32 = 1
    let error = renameat2(
      parts.directory, part, parent.directory, name, replacing ? 0 : noReplace)
    guard !replacing, error == EINVAL || error == ENOSYS else { return error }

    let linked = unsafe linkat(parts.directory.raw, part, parent.directory.raw, name, 0)
    if linked != 0 {
      // Over NFS, a repeated request finds the result of the first, whose reply was lost.
      let linkError = errno
      guard linkError == EEXIST, areSame(part, of: parts, and: name, in: parent) else {
        return linkError
      }
    }
    return unsafe unlinkat(parts.directory.raw, part, 0) == 0 ? 0 : errno
  }

  private func areSame(
    _ part: String, of parts: PartDirectory, and name: String, in parent: Parent
  ) -> Bool {
    guard let one = try? parts.directory.status(of: part),
      let other = try? parent.directory.status(of: name)
    else { return false }
    return one.inode == other.inode && one.isRegular
  }

  @Sendable private static func systemRename(
    _ from: FileDescriptor, _ name: String, _ to: FileDescriptor, _ newName: String, _ flags: UInt32
  ) -> Int32 {
    unsafe haul_renameat2(from.raw, name, to.raw, newName, flags) == 0 ? 0 : errno
  }
}

extension TransferError {
  /// Returns the error for a final name that another file already has, under the policy `fail`.
  package static func exists(_ path: RelativePath) -> TransferError { exists("\(path)") }

  static func exists(_ path: String) -> TransferError {
    TransferError(.exists, "the file \(path) already exists", remedy: .ifExists)
  }

  /// Returns the error for a final name that a directory already has.
  package static func directory(_ path: RelativePath) -> TransferError { directory("\(path)") }

  static func directory(_ path: String) -> TransferError {
    TransferError(.pathConflict, "\(path) is a directory")
  }
}
