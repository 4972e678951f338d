import HaulSystem

/// A partial file of a download that is not under way: paused, failed, or of a process that was killed.
public struct PartialFile: Sendable, Hashable {
  /// Its path. The name is hidden, and begins with the name of the file that was to be.
  public var path: String
  /// Its length, which says nothing about how much of it is durable.
  public var bytes: Int64
}

extension Downloader {
  /// Lists the partial files in a directory that no download is writing to, in this process or another on this machine. Blocks.
  ///
  /// Some of them may be what resume data mean. A list that is saved before the process ends can tell.
  ///
  /// - Throws: `io` where the directory cannot be read.
  public static func partialFiles(in directory: String) throws(TransferError) -> [PartialFile] {
    try idle(in: directory).map { name, size in
      PartialFile(path: "\(directory)/\(name)", bytes: size)
    }
  }

  /// Removes the partial files in a directory that no download is writing to, but for those that `kept` mean. Blocks.
  ///
  /// - Returns: how many were removed.
  /// - Throws: `io` where the directory cannot be read, or a file not be removed.
  @discardableResult
  public static func discardPartialFiles(
    in directory: String, keeping kept: [ResumeData] = []
  ) throws(TransferError) -> Int {
    let kept = Set(kept.map(\.checkpoint.part))
    let parts = PartDirectory(try open(directory), locksParts: true)
    var count = 0
    for (name, _) in try idle(in: directory) where !kept.contains(name) {
      if try parts.discard(name) { count += 1 }
    }
    return count
  }

  private static func open(_ directory: String) throws(TransferError) -> FileDescriptor {
    try translating(try FileDescriptor.directory(directory))
  }

  private static func idle(
    in directory: String
  ) throws(TransferError) -> [(name: String, size: Int64)] {
    let root = try open(directory)
    let parts = PartDirectory(root, locksParts: true)
    return try parts.names(startingWith: ".").sorted().compactMap { name in
      guard name.contains(DownloadTarget.mark), let size = parts.idleSize(name) else { return nil }
      return (name, size)
    }
  }
}
