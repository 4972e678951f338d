import FoundationEssentials
import Glibc
import HaulSystem
import HaulTransfer
package import JobQueue
package import Stores

/// A directory that Haul downloads to although it is not a permanent store. The directory is a store only while it has
/// unfinished files.
///
/// Several processes may download to the directory concurrently. Each process holds a shared lock on the directory. The last
/// process removes Haul's own files.
package struct DownloadDirectory: Sendable {
  /// The absolute path, without symbolic links.
  package let path: String
  /// The name of the store in the database. The name depends on the id in the directory's marker file, so a directory with
  /// unfinished files keeps its store name when it is moved.
  package let store: String
  /// The id in the directory's marker file. If the directory had no marker file, this is a new id.
  package let marker: String
  private let root: FileDescriptor
  /// Whether the marker file was written for a download directory of this pool, and not for a permanent store.
  private let isMarkerOwn: Bool

  /// Creates the directory if it is missing, and writes the marker file. `pool` is the id of the database's pool.
  ///
  /// The id in the marker file depends on the pool and the path, so Haul finds interrupted downloads even if the marker file was
  /// removed meanwhile. The first half of the id depends only on the pool. The pool uses this half to recognise its own marker
  /// file in a moved directory.
  package init(_ directory: NamedDirectory, pool: String) throws(StoreError) {
    try directory.make()
    let root = try directory.open()
    path = try directory.resolved()
    self.root = root
    _ = root.lock(exclusive: false)
    let halves = [pool, "\(pool)\n\(self.path)"].map { DigestAlgorithm.sha256(of: $0).prefix(16) }
    let own = UUID(hexadecimal: halves.joined())
    marker = try Store.initialise(directory, marker: own).marker
    store = "dir-\(marker)"
    let half = "00000000-0000-0000".count
    isMarkerOwn = marker.prefix(half) == own.uuidString.lowercased().prefix(half)
  }

  /// The mount with which a worker uses the directory as a store.
  package var mount: StoreMount { StoreMount(name: store, directory: path) }

  /// Returns whether the file of an earlier job exists with its recorded length. If the download did not verify a digest that
  /// the line requires, `verifier` reads the whole file and checks the digest.
  package func holds(_ line: FinishedLine, _ verifier: FileVerifier) async -> Bool {
    guard root.fileSize(line.path) == line.bytes else { return false }
    guard let text = line.digest else { return true }
    guard let digest = ExpectedDigest(spelled: text), let path = try? RelativePath(line.path) else {
      return false
    }
    let verdict = await verifier.look(at: path, length: line.bytes, digest: digest)
    if case .right = verdict { return true }
    return false
  }

  /// Returns a verifier that reads files of this directory on a thread of its own.
  package func verifier() throws -> FileVerifier {
    try FileVerifier(Destination(root: root))
  }

  /// Removes Haul's marker file and directories if no unfinished file is left and no other process uses the directory. If a
  /// file cannot be removed, a later call removes it.
  package func leave(pool: String) {
    guard root.lock(exclusive: true) else { return }
    Store.removeEmptyParts(of: pool, below: root)
    if isMarkerOwn { Store.removeUnused(below: root) }
  }
}

extension UUID {
  /// Creates a UUID from the first 16 bytes of the hexadecimal `text`.
  fileprivate init(hexadecimal text: String) {
    var bytes: [UInt8] = []
    var rest = Substring(text)
    while bytes.count < 16 {
      bytes.append(UInt8(rest.prefix(2), radix: 16) ?? 0)
      rest = rest.dropFirst(2)
    }
    self.init(
      uuid: (
        bytes[0], bytes[1], bytes[2], bytes[3], bytes[4], bytes[5], bytes[6], bytes[7], bytes[8],
        bytes[9], bytes[10], bytes[11], bytes[12], bytes[13], bytes[14], bytes[15]
      ))
  }
}
