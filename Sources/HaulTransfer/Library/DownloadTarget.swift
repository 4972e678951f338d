import FoundationEssentials
import HaulSystem
import Synchronization

/// Where one download's file and its part file stand: side by side. Every call blocks.
struct DownloadTarget: Sendable {
  let parts: PartDirectory
  private let directory: String
  /// What part files' names begin with.
  private let stem: String
  /// The file below the directory; nil while a response is still to name it.
  private var name: RelativePath?
  private let root: FileDescriptor
  private let destination: Destination

  /// The target of `request`; a relative path begins at `base`.
  ///
  /// - Throws: `path_conflict` where its path names no file; `io` where its directory cannot be opened.
  init(_ request: DownloadRequest, from base: String? = nil) throws(TransferError) {
    let path = request.path
    directory = Self.split(path).directory
    stem = Self.stem(of: request)
    guard !request.isURL else {
      throw TransferError(.pathConflict, "the target \(path) is no file URL")
    }
    guard !path.isEmpty else {
      throw TransferError(.pathConflict, "the path of the file is empty")
    }
    if !request.isDirectory {
      do throws(RelativePath.Invalid) {
        name = try RelativePath(stem)
      } catch {
        throw TransferError(.pathConflict, "the path \(path) names no file (\(error))")
      }
    }
    root = try translating(
      try FileDescriptor.directory(Self.absolute(directory, from: base ?? "")))
    parts = PartDirectory(root, locksParts: true)
    destination = Destination(root: root)
  }

  /// The target with the name that was chosen for the file, where it has none.
  ///
  /// - Throws: `path_conflict` as ``below(_:_:)``.
  func named(_ chosen: String?) throws(TransferError) -> DownloadTarget {
    guard name == nil, let chosen else { return self }
    var target = self
    target.name = try Self.below(directory, chosen)
    return target
  }

  /// The path that was chosen below a directory.
  ///
  /// - Throws: `path_conflict` where it leads out of that, or names no file.
  static func below(_ directory: String, _ chosen: String) throws(TransferError) -> RelativePath {
    do throws(RelativePath.Invalid) {
      return try RelativePath(chosen)
    } catch {
      throw TransferError(
        .pathConflict, "the name \(chosen) of the file is no path below \(directory) (\(error))")
    }
  }

  /// What the names of part files begin with: the file's name, or that of the URL where a response is to name the file.
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

  /// The directory at which a relative path begins now; nil where `path` is absolute.
  static func base(of path: String) -> String? {
    path.hasPrefix("/") ? nil : FileManager.default.currentDirectoryPath
  }

  /// `path`, where it is relative from `base` on.
  static func absolute(_ path: String, from base: String) -> String {
    path.hasPrefix("/") || base.isEmpty ? path : "\(base)/\(path)"
  }

  /// The absolute path of the file; nil while it has no name, and where the kernel does not tell.
  var absolutePath: String? {
    guard let name, let directoryPath else { return nil }
    return "\(directoryPath)/\(name)"
  }

  /// The absolute path of the directory; nil where the kernel does not tell.
  var directoryPath: String? { root.path }

  /// What part files' names have between the file's name and a random number.
  static let mark = ".haul-part-"

  /// A unique hidden name of at most 255 bytes.
  func newPartName() -> String {
    let end = Self.mark + String(UInt64.random(in: 0...(.max)), radix: 36)
    // Twelve bytes are left for the number of a second part.
    var stem = stem
    while stem.utf8.count + end.utf8.count > 242 { stem.removeLast() }
    return ".\(stem)\(end)"
  }

  /// The part file that `saved` means. One in another directory of the same file system is moved here.
  ///
  /// - Returns: nil where it is gone.
  /// - Throws: `path_conflict` if another download uses it, or if it is on another file system.
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
        "the partial file \(other)/\(saved.part) is on another file system: continue the download in its directory"
      )
    }
    return part
  }

  /// Removes the partial file that `saved` means, where it is there and no download uses it.
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

  /// The file that stands there already, where the policy has it decide before anything is fetched.
  ///
  /// - Returns: nil where there is none, and while the file has no name.
  /// - Throws: `exists`, under the policy `fail`; `path_conflict` where a directory stands there.
  func existing(_ policy: CollisionPolicy) throws(TransferError) -> DownloadedFile? {
    guard let name else { return nil }
    if policy != .rename, try destination.occupant(of: name) == .directory {
      throw .directory(path(name))
    }
    guard policy == .fail || policy == .skip, let file = try destination.open(name) else {
      return nil
    }
    guard policy == .skip else {
      throw .exists(path(name))
    }
    return DownloadedFile(path: path(name), bytes: try file.size())
  }

  /// Makes the part's bytes durable, gives it its name, and makes that durable.
  ///
  /// - Returns: the file, and which it is; nil where an older file counts as the result.
  func publish(
    _ part: PartFile, length: Int64, options: DownloadOptions
  ) throws(TransferError) -> (DownloadedFile, FileIdentity?) {
    guard let name else { throw TransferError(.protocol, "no response has named the file") }
    try part.sync()
    let parent = try destination.makeParent(of: name)
    let placement: Destination.Placement
    do throws(TransferError) {
      placement = try destination.place(
        part: part.name, inode: part.inode, of: parts, at: name, in: parent,
        policy: options.ifExists)
    } catch {
      // That knows no path above its root.
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
      throw TransferError(.io, "the partial file \(part.name) has been taken away")
    }
  }

  /// Whether the file of that identity and length has got its name, or under the policy `rename` one of those that follow.
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

// MARK: - What a killed process leaves

extension DownloadTarget {
  /// Removes the partial files of the targets of `entries` that no download uses and that the resume data of none of `left` mean.
  /// What cannot be looked at or removed stays. Blocks.
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
        // Also an empty one of the last second: nobody would look for it again.
        if !kept.contains(part), !isNeeded(part) { _ = try? parts.discard(part) }
      }
    }
  }

  /// Whether ``newPartName()`` may have given the name for one of these files.
  private static func isPart(_ part: String, ofAny names: Set<String>) -> Bool {
    guard let mark = part.ranges(of: mark).last else { return false }
    let stem = part[..<mark.lowerBound].dropFirst()
    if names.contains(String(stem)) { return true }
    // The end of a long name is missing.
    return part.utf8.count > 225 && names.contains { $0.hasPrefix(stem) }
  }
}
