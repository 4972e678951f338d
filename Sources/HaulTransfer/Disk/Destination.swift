import Glibc
import HaulCLinux
package import HaulSystem

/// What to do where a file stands under the final name.
public enum CollisionPolicy: String, Sendable, CaseIterable {
  /// Fail as `exists`.
  case fail
  /// Leave the file that is there, and call it done.
  case skip
  /// Put the new file in its place, in one step.
  case replace
  /// Take the next free name: `a.1.txt`, `a.2.txt`, …
  case rename
}

/// The tree that results are published in. No file is created, opened or renamed outside of it or
/// through a symbolic link. Every call blocks.
///
/// The steps are apart, so that a caller can record its intent before the rename, and sync the
/// directories of many files at once: `makeParent`, intent, `place`, `Parent.sync`.
package struct Destination: Sendable {
  /// renameat2(2): descriptor and name, twice, and flags; returns 0 or the error number.
  typealias Rename = @Sendable (FileDescriptor, String, FileDescriptor, String, UInt32) -> Int32

  private let root: FileDescriptor
  private let renameat2: Rename
  private let durable = DurableDirectories()

  /// Results go below `root`.
  package init(root: FileDescriptor) {
    self.init(root: root, renameat2: Self.systemRename)
  }

  /// Results go below `root`, renamed by `renameat2`. Tests pass one that refuses its flags, as some file systems do.
  init(root: FileDescriptor, renameat2: @escaping Rename) {
    self.root = root
    self.renameat2 = renameat2
  }

  /// A directory for one result or more.
  package struct Parent: Sendable {
    let directory: FileDescriptor
    /// Directories on the path whose entries may not be durable yet, because the process that created them may not have
    /// synced them.
    let unsynced: [FileDescriptor]
    let path: String
    let durable: DurableDirectories

    /// Tells a directory from every other that is there at the same time.
    package struct Identity: Hashable, Sendable {
      fileprivate let device: UInt64
      fileprivate let inode: UInt64
    }

    /// The directory's identity, equal for two values that stand for the same directory.
    package func identity() throws(TransferError) -> Identity {
      try Self.identity(of: directory)
    }

    static func identity(of directory: FileDescriptor) throws(TransferError) -> Identity {
      let status = try translating(try directory.status())
      return Identity(device: status.device, inode: status.inode)
    }

    /// Makes the names in this directory, and the directory itself, durable.
    package func sync() throws(TransferError) { try Self.sync([self]) }

    /// Does what ``sync()`` does for each of `parents`, but syncs each directory once.
    package static func sync(_ parents: [Parent]) throws(TransferError) {
      var synced: Set<Identity> = []
      for directory in parents.prefix(1).map(\.directory) + parents.flatMap(\.unsynced)
      where synced.insert(try identity(of: directory)).inserted {
        try translating(try directory.sync())
      }
      for parent in parents { parent.isDurable() }
    }

    /// The directory and those above it have been synced, by whatever means: they need no sync as new ones any more.
    package func isDurable() {
      // What cannot be looked at is synced again.
      if let identity = try? identity() { durable.insert(path, identity) }
    }
  }

  /// How placing ended.
  package enum Placement: Sendable, Equatable {
    /// The file stands at this path now.
    case placed(RelativePath)
    /// Another file stands there, and the policy is `skip`. The part file is still there.
    case skipped
    /// There is no part file of this name: another worker took it over. Not an error of the disk; on
    /// NFS look again before believing it.
    case partMissing
  }

  /// Opens the directory of `path`, and makes it and those above it where they are missing.
  ///
  /// - Throws: `path_conflict` where a file or a symbolic link stands in the way.
  package func makeParent(of path: RelativePath) throws(TransferError) -> Parent {
    switch root.openBeneath(path.directory, O_RDONLY | O_DIRECTORY) {
    case .success(let directory):
      let identity = try Parent.identity(of: directory)
      if path.components.count == 1 || durable.contains(path.directory, identity) {
        return Parent(directory: directory, unsynced: [], path: path.directory, durable: durable)
      }
    case .failure(let error) where error.number != ENOENT:
      throw try failure(error.number, path)
    case .failure: break
    }
    var directory = root
    var unsynced: [FileDescriptor] = []
    for component in path.components.dropLast() {
      unsynced.append(directory)
      let number = directory.makeDirectory(component)
      guard number == 0 || number == EEXIST else {
        throw .file(number, "cannot make the directory \(component) of \(path)", in: directory)
      }
      switch directory.openBeneath(component, O_RDONLY | O_DIRECTORY) {
      case .success(let next): directory = next
      case .failure(let error):
        throw .file(
          error.number, "cannot open the directory \(component) of \(path)", in: directory)
      }
    }
    return Parent(
      directory: directory, unsynced: unsynced, path: path.directory, durable: durable)
  }

  /// Makes sure that this process may make a file at `path` and the directories above it, as far as that shows without
  /// making anything.
  ///
  /// - Throws: `not_permitted`.
  package func requireRight(toMake path: RelativePath) throws(TransferError) {
    var above = path.components.dropLast()
    while true {
      if above.isEmpty { return try requireRight(toMake: path, in: root) }
      switch root.openBeneath(above.joined(separator: "/"), O_PATH | O_DIRECTORY) {
      case .success(let directory): return try requireRight(toMake: path, in: directory)
      // Not there yet, or below one that may not be entered.
      case .failure(let error) where [ENOENT, EACCES].contains(error.number):
        above.removeLast()
      // What else is wrong shows when the directories are made.
      case .failure: return
      }
    }
  }

  private func requireRight(
    toMake path: RelativePath, in directory: FileDescriptor
  ) throws(TransferError) {
    let number = directory.writeObstacle
    if number != 0 { throw .file(number, "cannot publish \(path)", in: directory) }
  }

  /// Why the directory of `path` cannot be opened.
  private func failure(_ number: Int32, _ path: RelativePath) throws(TransferError) -> TransferError
  {
    // That names the directory which may not be entered.
    if number == EACCES { try requireRight(toMake: path) }
    return .file(number, "cannot open the directory of \(path)")
  }

  /// Gives the part file its final name, in one step or, where the file system has none, by link
  /// and unlink. The file's bytes must be synced before, the parent after. If the part's name is gone or
  /// belongs to another file, another worker has taken the part over, and nothing changes (`partMissing`).
  ///
  /// - Throws: `exists` under the policy `fail`; `path_conflict` where a directory has the name.
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
        throw .file(error, "cannot publish \(candidate)", in: parent.directory)
      }
    }
  }

  /// The name among those that ``place(part:of:at:in:policy:)`` may have given in an earlier attempt at `path` whose file
  /// is the one looked for: how a rename is recognised whose confirmation was lost.
  ///
  /// - Returns: nil where there is none. Numbered names are looked at up to the first that is free.
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

  /// What stands under a name.
  package enum Occupant: Sendable, Equatable {
    case file(length: Int64)
    case directory
    /// A symbolic link, a socket or the like.
    case other
  }

  /// Looks at what stands at `path`, without opening it; nil where nothing does.
  ///
  /// - Throws: `path_conflict` where a file or a symbolic link stands in place of a directory above it.
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

  /// Opens a finished file for reading, to compare it with a length and digest.
  ///
  /// - Returns: nil where no regular file stands there.
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

  /// Gives a finished file that is damaged another name beside its own, `….damaged`, in place of an earlier one; durable on
  /// return. That nothing stands there is no error.
  package func setAside(_ path: RelativePath) throws(TransferError) {
    let parent = try makeParent(of: path)
    let error = renameat2(
      parent.directory, path.name, parent.directory, path.damagedName, 0)
    if error != 0 && error != ENOENT { throw .file(error, "cannot set \(path) aside") }
    try parent.sync()
  }

  /// Returns 0 or the error number, EEXIST where the name is taken and must not be replaced.
  private func move(
    _ part: String, of parts: PartDirectory, to name: String, in parent: Parent, replacing: Bool
  ) -> Int32 {
    let noReplace: UInt32 = 1
    let error = renameat2(
      parts.directory, part, parent.directory, name, replacing ? 0 : noReplace)
    guard !replacing, error == EINVAL || error == ENOSYS else { return error }

    let linked = unsafe linkat(parts.directory.raw, part, parent.directory.raw, name, 0)
    if linked != 0 {
      // Over NFS a repeated request finds the work of the first, whose answer was lost.
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
  /// The error for a final name that is taken, under the policy `fail`.
  package static func exists(_ path: RelativePath) -> TransferError { exists("\(path)") }

  static func exists(_ path: String) -> TransferError {
    TransferError(.exists, "a file stands at \(path) already", remedy: .ifExists)
  }

  /// The error for a final name that a directory has.
  package static func directory(_ path: RelativePath) -> TransferError { directory("\(path)") }

  static func directory(_ path: String) -> TransferError {
    TransferError(.pathConflict, "a directory stands at \(path)")
  }
}
