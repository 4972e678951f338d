package import FoundationEssentials
import Glibc
import Synchronization
package import Transfer

/// Why a directory cannot serve as a store. The description is a sentence for the operator.
package enum StoreError: Error, Sendable, Equatable, CustomStringConvertible {
  case noDirectory(String)
  /// The share is not mounted, or the directory was never initialised.
  case noMarker(store: String, directory: String)
  case unreadableMarker(String)
  case unwritable(String, reason: String)
  /// The user of this process has no right to write there. `advice` is a clause.
  case notPermitted(String, advice: String)

  package var description: String {
    switch self {
    case .noDirectory(let directory): "\(directory) is not a directory that can be opened"
    case .noMarker(let store, let directory):
      "\(directory) has no marker of a store: is the share mounted? If it is new, run 'haul store init \(store) \(directory)'"
    case .unreadableMarker(let directory):
      "the marker \(directory)/.haul/store.json cannot be read"
    case .unwritable(let directory, let reason): "\(directory) cannot be written: \(reason)"
    case .notPermitted(let directory, let advice):
      "this user may not write in \(directory): \(advice)"
    }
  }
}

/// A directory of results, with its marker and part files in `.haul` below it.
package struct Store: Sendable {
  /// The marker's content: `{"instance":"…uuid…"}`.
  private struct Marker: Codable { var instance: UUID }

  let name: String
  /// The instance id in the marker.
  let marker: String
  let root: FileDescriptor
  let destination: Destination
  let commit: GroupCommit
  /// Its own threads: a disk that hangs holds up no other store.
  let io: IOPool
  /// The directories of part files that are open.
  let shards = OpenShards()
  /// Nothing could be written there when it was opened, because its disk was full.
  let wasFull: Bool

  private static let markerPath = ".haul/store.json"

  /// Opens a directory that was initialised before, and makes sure that it can be written. A full disk is no error: there
  /// will be room again.
  package init(_ mount: StoreMount, ioThreads: Int = 1) throws(StoreError) {
    guard let root = try? FileDescriptor.directory(mount.directory) else {
      throw .noDirectory(mount.directory)
    }
    marker = try Self.marker(mount)
    try Self.requireRight(to: root, mount.directory)
    do throws(TransferError) {
      _ = try root.makeDirectories(".haul/parts")
      let own = try root.makeDirectories(".haul")
      try own.removeTrials()
      wasFull = try own.isFull()
      io = try IOPool(threads: ioThreads)
    } catch {
      throw .unwritable(mount.directory, reason: error.message)
    }
    name = mount.name
    self.root = root
    destination = Destination(root: root)
    commit = GroupCommit(root: root)
  }

  /// The instance id in the marker below a directory.
  package static func marker(_ mount: StoreMount) throws(StoreError) -> String {
    guard let text = read("\(mount.directory)/\(markerPath)") else {
      guard (try? FileDescriptor.directory(mount.directory)) != nil else {
        throw .noDirectory(mount.directory)
      }
      throw .noMarker(store: mount.name, directory: mount.directory)
    }
    guard let marker = try? JSONDecoder().decode(Marker.self, from: text) else {
      throw .unreadableMarker(mount.directory)
    }
    return marker.instance.uuidString.lowercased()
  }

  /// Writes the marker into `directory`, or reads the one that is there. Durable on return.
  ///
  /// Two runs at once agree: the marker is linked into place, and whoever comes second reads the first's.
  ///
  /// - Parameter marker: the instance id that a new marker gets; random without.
  package static func initialise(
    directory: String, marker: UUID = UUID()
  ) throws(StoreError) -> (marker: String, root: String) {
    guard let root = try? FileDescriptor.directory(directory),
      let path = unsafe realpath(directory, nil)
    else { throw .noDirectory(directory) }
    defer { unsafe free(path) }
    let absolute = unsafe String(cString: path)
    if Self.read("\(directory)/\(markerPath)") == nil {
      // Whose it is may be no concern of Haul's: nobody is told to give such a directory away.
      guard root.mayBeWritten else {
        throw .notPermitted(directory, advice: "name a directory of this user's own")
      }
      try requireRight(to: root, directory)
      do throws(TransferError) {
        let folder = try root.makeDirectories(".haul")
        let parts = PartDirectory(folder)
        let marker = (try? JSONEncoder().encode(Marker(instance: marker))) ?? Data()
        let temporary = "store.json.\(getpid())"
        try parts.remove(temporary)
        try parts.create(temporary).write(Array(marker))
        _ = try parts.linkNew(temporary, as: "store.json")
        try parts.remove(temporary)
        try folder.sync()
        try root.sync()
      } catch {
        throw .unwritable(directory, reason: error.message)
      }
    }
    let store = try Store(StoreMount(name: "", directory: directory))
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
  static func requireRight(
    to root: FileDescriptor, _ directory: String
  ) throws(StoreError) {
    if !root.mayBeWritten { throw .notPermitted(directory, advice: advice(root, directory)) }
    for name in [".haul", ".haul/parts"] {
      guard let own = root.directory(beneath: name), !own.mayBeWritten else { continue }
      let path = "\(directory)/\(name)"
      // As root has made it, say, in a store of the pool's user.
      throw .notPermitted(
        path,
        advice: own.owner == root.owner
          ? advice(own, path)
          : "give it to the user that owns the store, as root with 'chown -R --reference=\(directory) \(path)'"
      )
    }
  }

  private static func advice(_ closed: FileDescriptor, _ path: String) -> String {
    closed.owner == geteuid()
      ? "it owns it, and 'chmod u+rwx \(path)' lets it" : "run haul as the user that owns it"
  }

  private static func read(_ path: String) -> Data? {
    try? Data(contentsOf: URL(filePath: path))
  }

  /// The directory of a job's part files for the pool `pool`: one of 256, made if it is missing, and opened once.
  func parts(pool: String, job: Int64) async throws(TransferError) -> PartDirectory {
    let path = "\(Self.partsPath(pool))/\(Self.shard(job))"
    if let opened = shards[path] { return opened }
    return try await io.run { () throws(TransferError) in
      let directory = PartDirectory(try root.makeDirectories(path))
      shards[path] = directory
      return directory
    }
  }

  /// Below the root: `.haul/parts/POOL`.
  static func partsPath(_ pool: String) -> String { ".haul/parts/\(pool)" }

  /// Two hexadecimal digits. Jobs whose ids follow each other share one: a new directory costs a sync, and the files of one
  /// lie near each other on the disk.
  static func shard(_ job: Int64) -> String {
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
struct PartName: Sendable, Equatable {
  let job: Int64
  let token: Int64

  var text: String { "\(job).\(token)" }

  init(job: Int64, token: Int64) {
    self.job = job
    self.token = token
  }

  /// nil for a name that Haul would not give.
  init?(_ text: String) {
    let parts = text.split(separator: ".")
    guard (2...3).contains(parts.count), let job = Int64(parts[0]), let token = Int64(parts[1])
    else { return nil }
    self.init(job: job, token: token)
  }
}
