package import FoundationEssentials
import Glibc
import HaulCLinux
package import HaulSystem
package import HaulTransfer
import Synchronization

/// A directory of results, with its marker and part files in `.haul` below it.
package struct Store: Sendable {
  /// The marker's content: `{"instance":"…uuid…"}`.
  private struct Marker: Codable { var instance: UUID }

  package let name: String
  /// Where it was opened.
  package let directory: String
  /// The instance id in the marker.
  package let marker: String
  package let root: FileDescriptor
  package let destination: Destination
  package let commit: GroupCommit
  /// The store's own threads, so that a disk that hangs holds up no other store.
  package let io: IOPool
  /// The directories of part files that are open.
  package let shards = PartDirectoryCache()
  /// Nothing could be written there when it was opened, because its disk was full.
  package let wasFull: Bool

  private static let markerPath = ".haul/store.json"

  /// Opens a directory that was initialised before, and makes sure that it can be written. A full disk is no error: there
  /// will be room again.
  ///
  /// - Parameter io: the threads of the store that this one takes the place of.
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

  /// Whether its path still leads to the directory that was opened: another is there once a mount has gone or come. Blocks as
  /// the disk does. (stat(2))
  package var isInPlace: Bool {
    var found = stat()
    guard unsafe stat(directory, &found) == 0, let own = try? root.status() else { return false }
    return UInt64(found.st_dev) == own.device && UInt64(found.st_ino) == own.inode
  }

  /// The message for a store that is not in place.
  package var displacement: String {
    "\(directory) is not the directory that this worker opened: is the share mounted?"
  }

  /// The message for a store that is a copy of the directory of `original`.
  package func copied(of original: String) -> String {
    let word = shellWord(directory)
    return
      "\(directory) is a copy of the directory that \(original) uses, with the same marker, and each lacks the other's files. To make it a store of its own, stop this worker, run 'rm -r \(word)/.haul' and 'haul store init \(name) \(word)', and start it again"
  }

  /// The directory of a store that a user has named.
  package static func open(_ mount: StoreMount) throws(StoreError) -> FileDescriptor {
    do throws(StoreError) {
      return try directory(of: mount).open()
    } catch .absent(let path, _) {
      throw .absent(path, store: mount.name)
    }
  }

  /// The directory of a mount, with advice for a user who may not read it and must not make another store there.
  package static func directory(of mount: StoreMount) -> NamedDirectory {
    NamedDirectory(mount.directory, advice: "run haul as the user that owns it")
  }

  /// The instance id in the marker below a directory.
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

  /// Writes the marker into `directory`, or reads the one that is there. Durable on return.
  ///
  /// Two runs at once agree: the marker is linked into place, and the second run reads the first one's marker.
  ///
  /// - Parameter marker: the instance id that a new marker gets; random without.
  package static func initialise(
    _ directory: NamedDirectory, marker: UUID = UUID()
  ) throws(StoreError) -> (marker: String, root: String) {
    let root = try directory.open()
    let absolute = try directory.resolved()
    if try read(directory) == nil {
      // Whose it is may be no concern of Haul's: nobody is told to give such a directory away.
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

  /// Removes the directories of the pool's part files that hold none.
  package static func removeEmptyParts(of pool: String, below root: FileDescriptor) {
    for shard in root.names(in: partsPath(pool)) {
      _ = root.removeDirectory("\(partsPath(pool))/\(shard)")
    }
    _ = root.removeDirectory(partsPath(pool))
  }

  /// Removes the marker, and `.haul` with it, unless a part file is left there. `root` is no store afterwards.
  package static func removeUnused(below root: FileDescriptor) {
    guard root.removeDirectory(".haul/parts"), root.names(in: ".haul") == ["store.json"],
      let folder = root.directory(beneath: ".haul")
    else { return }
    try? PartDirectory(folder).remove("store.json")
    _ = root.removeDirectory(".haul")
  }

  /// Results go to the root of a store, and what belongs to Haul below `.haul`, where that is there.
  ///
  /// - Parameter pools: whose part files are to be written there.
  package static func requireRight(
    to root: FileDescriptor, _ directory: String, pools: [String] = []
  ) throws(StoreError) {
    if !root.mayBeWritten { throw notPermitted("write in", directory, of: directory) }
    let parts = pools.map(partsPath)
    let shards = parts.flatMap { path in root.names(in: path).map { "\(path)/\($0)" } }
    for name in [".haul", ".haul/parts"] + parts + shards where !root.mayWrite(beneath: name) {
      throw notPermitted("write in", "\(directory)/\(name)", of: directory)
    }
  }

  /// `path` is the directory of a store, or Haul's own in it, where this user lacks the right to `act`.
  private static func notPermitted(_ act: String, _ path: String, of store: String) -> StoreError {
    let name = shellWord(path)
    let advice =
      switch owner(of: path) {
      // As root has made it, say, in a store of the pool's user.
      case let owner? where owner != self.owner(of: store):
        "it belongs to \(SystemUser.word(owner)); give it to the user that owns the store, as root with 'chown -R --reference=\(shellWord(store)) \(name)'"
      case geteuid(): "it owns it, and 'chmod u+rwx \(name)' lets it"
      case 0:
        "it belongs to root; give it to the user that workers run as, as root with 'chown -R \(SystemUser.ownWord) \(name)'"
      default: "run haul as the user that owns it"
      }
    return .notPermitted("this user may not \(act) \(path)", advice: advice)
  }

  private static func owner(of path: String) -> uid_t? {
    var found = stat()
    return unsafe stat(path, &found) == 0 ? found.st_uid : nil
  }

  /// The marker below a directory; nil where there is none.
  private static func read(_ directory: NamedDirectory) throws(StoreError) -> Data? {
    let file = "\(directory.path)/\(markerPath)"
    if let text = try? Data(contentsOf: URL(filePath: file)) { return text }
    let own = "\(directory.path)/.haul"
    // Without the right to enter the directory itself it is not known whether it is a store.
    guard unsafe access(own, F_OK) == 0, unsafe access(file, R_OK) != 0, errno == EACCES else {
      return nil
    }
    let closed = unsafe access(own, X_OK) == 0 ? file : own
    throw notPermitted("read", closed, of: directory.path)
  }

  /// The directory of a job's part files for the pool `pool`: one of 256, made if it is missing, and opened once.
  package func parts(pool: String, job: Int64) async throws(TransferError) -> PartDirectory {
    let path = "\(Self.partsPath(pool))/\(Self.shard(job))"
    if let opened = shards[path] { return opened }
    return try await io.run { () throws(TransferError) in
      let directory = PartDirectory(try root.makeDirectories(path))
      shards[path] = directory
      return directory
    }
  }

  /// Below the root: `.haul/parts/POOL`.
  package static func partsPath(_ pool: String) -> String { ".haul/parts/\(pool)" }

  /// Two hexadecimal digits. Jobs whose ids follow each other share one: a new directory costs a sync, and the files of one
  /// lie near each other on the disk.
  package static func shard(_ job: Int64) -> String {
    let digits = String(job >> 10 & 0xff, radix: 16)
    return digits.utf8.count == 1 ? "0" + digits : digits
  }
}

extension FileDescriptor {
  /// Whether a small file finds no room in this directory.
  /// - Throws: what else keeps one from being written.
  fileprivate func isFull() throws(TransferError) -> Bool {
    do throws(TransferError) {
      try probeWriting()
      return false
    } catch  where error.errorClass == .diskFull {
      return true
    }
  }
}

/// The name of a part file: job and token, and a number once the source has changed within one attempt.
package struct PartName: Sendable, Equatable {
  package let job: Int64
  package let token: Int64

  package var text: String { "\(job).\(token)" }

  package init(job: Int64, token: Int64) {
    self.job = job
    self.token = token
  }

  /// nil for a name that Haul would not give.
  package init?(_ text: String) {
    let parts = text.split(separator: ".")
    guard (2...3).contains(parts.count), let job = Int64(parts[0]), let token = Int64(parts[1])
    else { return nil }
    self.init(job: job, token: token)
  }
}
