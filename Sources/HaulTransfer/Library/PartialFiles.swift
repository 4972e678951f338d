import HaulSystem

/// A partial file that no download uses. The file belongs to a paused or failed download, or to a killed process.
public struct PartialFile: Sendable, Hashable {
  /// The path of the partial file. Its name is hidden and starts with the name of the final file.
  public var path: String
  /// The length in bytes. This length does not show how many of the bytes are durable.
  public var bytes: Int64
}

extension Downloader {
  /// Lists the partial files in a directory, except those in use by any process on this machine. Blocks.
  ///
  /// Saved resume data may still refer to some of these files: compare ``ResumeData/partialFile``.
  ///
  /// - Throws: `io` if the directory cannot be read.
  public static func partialFiles(in directory: String) throws(TransferError) -> [PartialFile] {
    try idle(in: directory).map { name, size in
      PartialFile(path: "\(directory)/\(name)", bytes: size)
    }
  }

  /// Removes the partial files in a directory, except files in use and files of the resume data in `kept`. Blocks.
  ///
  /// Caution: this call also removes the partial file of a suspended download, and of a download that waits for its next
  /// attempt. To keep such a file, pass the ``Download/resumeData`` of the download in `kept`.
  ///
  /// - Returns: The number of removed files.
  /// - Throws: `io` if the directory cannot be read, or a file cannot be removed.
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
