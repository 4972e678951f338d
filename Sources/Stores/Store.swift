package import FoundationEssentials
import Glibc
import HaulCLinux
package import HaulSystem
package import HaulTransfer
import Synchronization

/// A directory for finished files. Its subdirectory `.haul` holds the part files and the marker, a file that identifies the
/// store.
package struct Store: Sendable {
  /// The content of the marker: `{"instance":"…uuid…"}`.
  private struct Marker: Codable { var instance: UUID }

  package let name: String
  /// The path at which the store was opened.
  package let directory: String
  /// The instance id, which identifies this directory of the store. The store's marker file contains it.
  package let marker: String
  package let root: FileDescriptor
  package let destination: Destination
  package let commit: GroupCommit
  /// The store's own threads for disk access, so that a disk that hangs does not block other stores.
  package let io: IOPool
  /// The cache of open directories of part files.
  package let shards = PartDirectoryCache()
  /// Whether the disk was so full when the store was opened that nothing could be written.
  package let wasFull: Bool

  private static let markerPath = ".haul/store.json"

  /// Opens a store's directory, which must already have a marker file, and checks that files can be written in it. A full disk
  /// is not an error, because space may become free.
  ///
  /// - Parameter io: the threads of the store that this store replaces; nil to create threads.
  package init(
    _ mount: StoreMount, ioThreads: Int = 1, io: IOPool? = nil
  ) throws(StoreError) {
    let directory = Self.directory(of: mount)
    let root = try Self.open(mount)
    marker = try Self.marker(mount)
    try Self.requireRight(to: root, directory.path)
    do throws(TransferError) {
      _ = try root.makeDirectories(".haul/parts")
      let own = try root.makeDirectories(".haul")
      try own.removeTrials()
      wasFull = try own.isFull()
      self.io = if let io { io } else { try translating(try IOPool(threads: ioThreads)) }
    } catch {
      throw .unwritable(directory.path, reason: error.message)
    }
    name = mount.name
    self.directory = directory.path
    self.root = root
    destination = Destination(root: root)
    commit = GroupCommit(root: root)
  }

  /// Whether the store's path still leads to the directory that was opened. After a mount or unmount, the path leads to another
  /// directory. Blocks while the disk blocks. (stat(2))
  package var isInPlace: Bool {
    var found = stat()
    guard unsafe stat(directory, &found) == 0, let own = try? root.status() else { return false }
    return UInt64(found.st_dev) == own.device && UInt64(found.st_ino) == own.inode
  }

  /// The message if the store's path leads to another directory.
  package var displacement: String {
    "\(directory) is no longer the directory that this worker opened: check that the share is mounted"
  }

  /// Returns the message for a store that is a copy of the directory of `original`.
  package func copied(of original: String) -> String {
    let word = shellWord(directory)
    return
      "\(directory) is a copy of the directory that \(original) uses. Both have the same store marker, but different files. To use \(directory) as a separate directory, stop this worker. Then run 'rm -r \(word)/.haul' and 'haul store init \(name) \(word)', and restart the worker"
  }

  /// Opens the directory of a store that a user has named.
  package static func open(_ mount: StoreMount) throws(StoreError) -> FileDescriptor {
    do throws(StoreError) {
      return try directory(of: mount).open()
    } catch .absent(let path, _) {
      throw .absent(path, store: mount.name)
    }
  }

  /// Returns the directory of a mount. Messages about missing rights then advise the user to run Haul as the owner of the
  /// directory, because the user must not create another store there.
  package static func directory(of mount: StoreMount) -> NamedDirectory {
    NamedDirectory(mount.directory, advice: "run haul as the user that owns the directory")
  }

  /// Reads the instance id, which identifies one directory of a store, from the marker file in the directory of a mount.
  package static func marker(_ mount: StoreMount) throws(StoreError) -> String {
    let directory = Self.directory(of: mount)
    guard let text = try read(directory) else {
      _ = try open(mount)
      throw .noMarker(store: mount.name, directory: directory.path)
    }
    guard let marker = try? JSONDecoder().decode(Marker.self, from: text) else {
      throw .unreadableMarker(directory.path)
    }
    return marker.instance.uuidString.lowercased()
  }

  /// Writes the marker file of a store into `directory`, or reads an existing one. The marker is durable on return.
  ///
  /// Two concurrent calls get the same marker: the first call links the marker file into place, and the second call reads that
  /// file.
  ///
  /// - Parameter marker: the instance id for a new marker. Default: a random id.
  package static func initialise(
    _ directory: NamedDirectory, marker: UUID = UUID()
  ) throws(StoreError) -> (marker: String, root: String) {
    let root = try directory.open()
    let absolute = try directory.resolved()
    if try read(directory) == nil {
      // Check this right first. Otherwise, Haul would advise the user to change the owner of a directory that is not a store.
      try directory.requireRight()
      try requireRight(to: root, directory.path)
      do throws(TransferError) {
        let folder = try root.makeDirectories(".haul")
        let parts = PartDirectory(folder)
        let marker = (try? JSONEncoder().encode(Marker(instance: marker))) ?? Data()
        let temporary = "store.json.\(getpid())"
        try parts.remove(temporary)
        try parts.create(temporary).write(Array(marker))
        _ = try parts.linkNew(temporary, as: "store.json")
        try parts.remove(temporary)
        try translating(try folder.sync())
        try translating(try root.sync())
      } catch {
        throw .unwritable(directory.path, reason: error.message)
      }
    }
    let store = try Store(StoreMount(name: "", directory: directory.path))
    return (store.marker, absolute)
  }

  /// Removes the pool's empty directories of part files.
  package static func removeEmptyParts(of pool: String, below root: FileDescriptor) {
    for shard in root.names(in: partsPath(pool)) {
      _ = root.removeDirectory("\(partsPath(pool))/\(shard)")
    }
    _ = root.removeDirectory(partsPath(pool))
  }

  /// Removes the marker file and `.haul`, unless part files are left. Without the marker file, `root` is no longer a store.
  package static func removeUnused(below root: FileDescriptor) {
    guard root.removeDirectory(".haul/parts"), root.names(in: ".haul") == ["store.json"],
      let folder = root.directory(beneath: ".haul")
    else { return }
    try? PartDirectory(folder).remove("store.json")
    _ = root.removeDirectory(".haul")
  }

  /// Checks that this user may write in a store's root and, if they exist, in Haul's directories below `.haul`.
  ///
  /// - Parameter pools: the pools whose part files workers will write in the store.
  package static func requireRight(
    to root: FileDescriptor, _ directory: String, pools: [String] = []
  ) throws(StoreError) {
    if !root.mayBeWritten { throw notPermitted("write to", directory, of: directory) }
    let parts = pools.map(partsPath)
    let shards = parts.flatMap { path in root.names(in: path).map { "\(path)/\($0)" } }
    for name in [".haul", ".haul/parts"] + parts + shards where !root.mayWrite(beneath: name) {
      throw notPermitted("write to", "\(directory)/\(name)", of: directory)
    }
  }

  /// Returns the error for a user without the right to `act` on `path`, which is a store's directory or a directory of Haul below
  /// it.
  private static func notPermitted(_ act: String, _ path: String, of store: String) -> StoreError {
    let name = shellWord(path)
    let advice =
      switch owner(of: path) {
      // For example, root may have created this directory in a store that belongs to the pool's user.
      case let owner? where owner != self.owner(of: store):
        "the directory belongs to \(SystemUser.word(owner)); as root, run 'chown -R --reference=\(shellWord(store)) \(name)'"
      case geteuid(): "run 'chmod u+rwx \(name)'"
      case 0:
        "the directory belongs to root; as root, run 'chown -R \(SystemUser.ownWord) \(name)'"
      default: "run haul as the user that owns the directory"
      }
    return .notPermitted("this user has no permission to \(act) \(path)", advice: advice)
  }

  private static func owner(of path: String) -> uid_t? {
    var found = stat()
    return unsafe stat(path, &found) == 0 ? found.st_uid : nil
  }

  /// Returns the marker below a directory, or nil if there is none.
  private static func read(_ directory: NamedDirectory) throws(StoreError) -> Data? {
    let file = "\(directory.path)/\(markerPath)"
    if let text = try? Data(contentsOf: URL(filePath: file)) { return text }
    let own = "\(directory.path)/.haul"
    // Without the right to enter the directory, Haul cannot know whether it is a store.
    guard unsafe access(own, F_OK) == 0, unsafe access(file, R_OK) != 0, errno == EACCES else {
      return nil
    }
    let closed = unsafe access(own, X_OK) == 0 ? file : own
    throw notPermitted("read", closed, of: directory.path)
  }

  /// Returns the directory for the part files of a job: one of 256 directories of the pool `pool`. Creates the directory if it
  /// is missing, and opens it only once.
  package func parts(pool: String, job: Int64) async throws(TransferError) -> PartDirectory {
    let path = "\(Self.partsPath(pool))/\(Self.shard(job))"
    if let opened = shards[path] { return opened }
    return try await io.run { () throws(TransferError) in
      let directory = PartDirectory(try root.makeDirectories(path))
      shards[path] = directory
      return directory
    }
  }

  /// Returns the path of a pool's part files below the root: `.haul/parts/POOL`.
  package static func partsPath(_ pool: String) -> String { ".haul/parts/\(pool)" }

  /// Returns the name of the directory for a job's part files: two hexadecimal digits. Jobs with consecutive ids share a
  /// directory, because a new directory costs a sync, and the files of one directory lie near each other on the disk.
  package static func shard(_ job: Int64) -> String {
    let digits = String(job >> 10 & 0xff, radix: 16)
    return digits.utf8.count == 1 ? "0" + digits : digits
  }
}

extension FileDescriptor {
  /// Whether the disk has no room for a small file in this directory.
  /// - Throws: any other error of writing the file.
  fileprivate func isFull() throws(TransferError) -> Bool {
    do throws(TransferError) {
      try probeWriting()
      return false
    } catch  where error.errorClass == .diskFull {
      return true
    }
  }
}

/// The name of a part file. The name consists of the id of the job, the token of the lease and, if the source has changed
/// during the attempt, a number.
package struct PartName: Sendable, Equatable {
  package let job: Int64
  package let token: Int64

  package var text: String { "\(job).\(token)" }

  package init(job: Int64, token: Int64) {
    self.job = job
    self.token = token
  }

  /// Reads the name of a part file; nil for any other name.
  package init?(_ text: String) {
    let parts = text.split(separator: ".")
    guard (2...3).contains(parts.count), let job = Int64(parts[0]), let token = Int64(parts[1])
    else { return nil }
    self.init(job: job, token: token)
  }
}
