import FoundationEssentials
import HaulSystem
import Synchronization

/// The directory of a download, where its part file and its final file belong. Every call blocks.
struct DownloadTarget: Sendable {
  let parts: PartDirectory
  private let directory: String
  /// The beginning of the part files' names.
  private let stem: String
  /// The path of the file below the directory; nil until a response has named the file.
  private var name: RelativePath?
  private let root: FileDescriptor
  private let destination: Destination

  /// Opens the target of `request`. A relative path begins at `base`.
  ///
  /// - Throws: `path_conflict` if the path names no file; `io` if the directory cannot be opened.
  init(_ request: DownloadRequest, from base: String? = nil) throws(TransferError) {
    let path = request.path
    directory = Self.split(path).directory
    stem = Self.stem(of: request)
    guard !request.isURL else {
      throw TransferError(.pathConflict, "the target \(path) is not a file URL")
    }
    guard !path.isEmpty else {
      throw TransferError(.pathConflict, "the path of the file is empty")
    }
    if !request.isDirectory {
      do throws(RelativePath.Invalid) {
        name = try RelativePath(stem)
      } catch {
        throw TransferError(.pathConflict, "the path \(path) does not name a file: \(error)")
      }
    }
    root = try translating(
      try FileDescriptor.directory(Self.absolute(directory, from: base ?? "")))
    parts = PartDirectory(root, locksParts: true)
    destination = Destination(root: root, isRootShared: false)
  }

  /// Returns the target with the file name `chosen`, which may be a path below the directory. Returns the target unchanged if
  /// it already has a name, or if `chosen` is nil.
  ///
  /// - Throws: `path_conflict`, as ``below(_:_:)`` does.
  func named(_ chosen: String?) throws(TransferError) -> DownloadTarget {
    guard name == nil, let chosen else { return self }
    var target = self
    target.name = try Self.below(directory, chosen)
    return target
  }

  /// Returns a chosen name as a path below a directory.
  ///
  /// - Throws: `path_conflict` if the name leads out of the directory, or names no file.
  static func below(_ directory: String, _ chosen: String) throws(TransferError) -> RelativePath {
    do throws(RelativePath.Invalid) {
      return try RelativePath(chosen)
    } catch {
      throw TransferError(
        .pathConflict, "the file name \(chosen) is not a path below \(directory): \(error)")
    }
  }

  /// Returns the beginning of the part files' names: the file's name, or the last name of the URL if the response names
  /// the file.
  static func stem(of request: DownloadRequest) -> String {
    guard request.isDirectory else { return split(request.path).name }
    let url = try? WebURL(request.url, schemes: WebURL.knownSchemes)
    return url.flatMap(FileName.last) ?? FileName.unknown
  }

  /// Splits a path into its directory and its last component.
  static func split(_ path: String) -> (directory: String, name: String) {
    guard let slash = path.lastIndex(of: "/") else { return (".", path) }
    let directory = path[..<slash]
    return (directory.isEmpty ? "/" : String(directory), String(path[path.index(after: slash)...]))
  }

  /// Returns the current working directory if `path` is relative; nil if `path` is absolute.
  static func base(of path: String) -> String? {
    path.hasPrefix("/") ? nil : FileManager.default.currentDirectoryPath
  }

  /// Returns `path`, or the path below `base` if `path` is relative.
  static func absolute(_ path: String, from base: String) -> String {
    path.hasPrefix("/") || base.isEmpty ? path : "\(base)/\(path)"
  }

  /// The identity of a path. All spellings of the same directory give equal values.
  struct Place: Hashable {
    /// The directory.
    let device: UInt64
    let inode: UInt64
    /// The path below the directory.
    let name: RelativePath
  }

  /// The place of the file; nil while the file has no name.
  ///
  /// - Throws: `io` if the directory cannot be read.
  func place() throws(TransferError) -> Place? {
    guard let name else { return nil }
    let directory = try translating(try root.status())
    return Place(device: directory.device, inode: directory.inode, name: name)
  }

  /// The absolute path of the directory; nil if the kernel does not report the path.
  var directoryPath: String? { root.path }

  /// The text between the file's name and the random number in the names of part files.
  static let mark = ".haul-part-"

  /// Returns a unique hidden name for a part file, of 255 bytes or less.
  func newPartName() -> String {
    let end = Self.mark + String(PartNumber.next(), radix: 36)
    // Twelve bytes stay free for the suffix of a second part file, such as `.1`.
    var stem = stem
    while stem.utf8.count + end.utf8.count > 242 { stem.removeLast() }
    return ".\(stem)\(end)"
  }

  /// Opens the part file that `saved` names. If the part file is in another directory of the same file system, it moves to this
  /// directory.
  ///
  /// - Returns: nil if the part file no longer exists or does not hold the durable bytes.
  /// - Throws: `path_conflict` if another download uses the part file, or if it is on another file system.
  func part(_ saved: Checkpoint) throws(TransferError) -> PartFile? {
    if let part = try open(saved, in: parts) { return part }
    guard let other = saved.directory, other != directoryPath,
      let old = try? FileDescriptor.directory(other)
    else { return nil }
    let before = PartDirectory(old, locksParts: true)
    // The lock stays, so no other download uses the file while it moves.
    guard let part = try open(saved, in: before) else { return nil }
    guard try before.move(saved.part, to: parts) else {
      throw TransferError(
        .pathConflict,
        "the partial file \(other)/\(saved.part) and the new path are on different file systems: continue the download in the directory of the partial file"
      )
    }
    return part
  }

  /// Removes the partial file that `saved` names, if it exists and no download uses it.
  func discard(_ saved: Checkpoint) {
    var places = [parts]
    if let other = saved.directory, other != directoryPath,
      let old = try? FileDescriptor.directory(other)
    {
      places.append(PartDirectory(old, locksParts: true))
    }
    guard saved.part.contains(Self.mark) else { return }
    for place in places { _ = try? place.discard(saved.part, inode: saved.inode) }
  }

  private func open(
    _ saved: Checkpoint, in parts: PartDirectory
  ) throws(TransferError) -> PartFile? {
    try parts.open(
      saved.part, inode: saved.inode, holding: saved.durable.end, of: saved.completeLength)
  }

  /// Checks whether a file exists at the path, before the download begins.
  ///
  /// - Returns: The existing file under the policy `skip`; nil if no file exists, under other policies, and while the file has
  ///   no name.
  /// - Throws: `exists` under the policy `fail`; `path_conflict` if a directory has the name.
  func existing(_ policy: CollisionPolicy) throws(TransferError) -> DownloadedFile? {
    guard let name, policy != .rename, let occupant = try destination.occupant(of: name) else {
      return nil
    }
    if occupant == .directory { throw .directory(path(name)) }
    guard policy == .fail || policy == .skip, let file = try destination.open(name) else {
      return nil
    }
    guard policy == .skip else {
      throw .exists(path(name))
    }
    return DownloadedFile(path: path(name), bytes: try file.size())
  }

  /// Makes the part's bytes durable, gives the part the file's name, and makes the name durable.
  ///
  /// - Returns: The file and its identity. The identity is nil if an older file counts as the result.
  func publish(
    _ part: PartFile, length: Int64, options: DownloadOptions
  ) throws(TransferError) -> (DownloadedFile, FileIdentity?) {
    guard let name else { throw TransferError(.protocol, "no response gave a name for the file") }
    try part.sync()
    let parent = try destination.makeParent(of: name)
    let placement: Destination.Placement
    do throws(TransferError) {
      placement = try destination.place(
        part: part.name, inode: part.inode, of: parts, at: name, in: parent,
        policy: options.ifExists)
    } catch {
      // `Destination` knows only paths below its root. These errors get the whole path here.
      switch error.errorClass {
      case .exists: throw .exists(path(name))
      case .pathConflict where error == .directory("\(name)"): throw .directory(path(name))
      default: throw error
      }
    }
    switch placement {
    case .placed(let name):
      try parent.sync()
      let file = DownloadedFile(path: path(name), bytes: length, digest: options.digest)
      return (file, try part.identity())
    case .skipped:
      try? parts.remove(part.name)
      return (try existing(.skip) ?? DownloadedFile(path: path(name), bytes: length), nil)
    case .partMissing:
      throw TransferError(.io, "the partial file \(part.name) was removed")
    }
  }

  /// Returns whether the file with this identity and length has the target's name or, under the policy `rename`, one of its
  /// numbered names.
  func holds(_ file: PublishedFile, _ policy: CollisionPolicy) throws(TransferError) -> Bool {
    guard let name else { return false }
    let found = try destination.find(name, policy: policy) {
      (found) throws(TransferError) -> Bool in
      guard try found.identity() == file.identity else { return false }
      return try found.size() == file.length
    }
    return found != nil
  }

  private func path(_ name: RelativePath) -> String {
    switch directory {
    case ".": name.description
    case "/": "/\(name)"
    default: "\(directory)/\(name)"
    }
  }
}

/// The numbers in the names of part files. A process asks the kernel for one random number, and computes the others.
private enum PartNumber {
  private static let first = UInt64.random(in: 0...(.max))
  private static let count = Atomic<UInt64>(0)

  static func next() -> UInt64 {
    // The factor is odd, so a number returns only after 2⁶⁴ calls.
    first &+ count.wrappingAdd(1, ordering: .relaxed).oldValue &* 0x9e37_79b9_7f4a_7c15
  }
}

// MARK: - Files of a killed process

extension DownloadTarget {
  /// Removes the partial files that belong to `entries`. A file stays if a download uses it, if `isNeeded` returns true, if the
  /// resume data of `left` name it, or if it cannot be checked or removed. Blocks.
  static func discardParts(
    of entries: [DownloadListEntry], keepingThoseOf left: [DownloadListEntry],
    unless isNeeded: (String) -> Bool
  ) {
    let kept = Set(left.compactMap { $0.resumeData?.checkpoint.part })
    let targets = entries.map { (split($0.request.path).directory, stem(of: $0.request)) }
    for (directory, list) in Dictionary(grouping: targets, by: \.0) {
      guard let root = try? FileDescriptor.directory(directory) else { continue }
      let parts = PartDirectory(root, locksParts: true)
      let names = Set(list.map(\.1))
      for part in (try? parts.names(startingWith: ".")) ?? [] where isPart(part, ofAny: names) {
        // Unlike `idleSize(_:)`, this includes an empty part that is less than a second old. Nothing would remove it later.
        if !kept.contains(part), !isNeeded(part) { _ = try? parts.discard(part) }
      }
    }
  }

  /// Returns whether `part` may be a name that ``newPartName()`` made for one of the files `names`.
  private static func isPart(_ part: String, ofAny names: Set<String>) -> Bool {
    guard let mark = part.ranges(of: mark).last else { return false }
    let stem = part[..<mark.lowerBound].dropFirst()
    if names.contains(String(stem)) { return true }
    // A long name was cut at its end.
    return part.utf8.count > 225 && names.contains { $0.hasPrefix(stem) }
  }
}
