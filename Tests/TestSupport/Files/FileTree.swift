import Foundation

/// What lies below a directory, and whether it is what it should be.
package enum FileTree {
  /// Relative paths of all regular files and symbolic links below, hidden ones too, sorted.
  ///
  /// What goes away meanwhile is left out: programs work there.
  package static func files(below directory: String) throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: directory).flatMap { name in
      try files(under: name, of: directory)
    }.sorted()
  }

  /// That entry, or what lies below it; nothing where it is gone.
  private static func files(under path: String, of directory: String) throws -> [String] {
    let manager = FileManager.default
    let entry = "\(directory)/\(path)"
    do {
      let kind = try manager.attributesOfItem(atPath: entry)[.type]
      guard kind as? FileAttributeType == .typeDirectory else { return [path] }
      return try manager.contentsOfDirectory(atPath: entry).flatMap { name in
        try files(under: "\(path)/\(name)", of: directory)
      }
    } catch CocoaError.fileReadNoSuchFile, CocoaError.fileNoSuchFile {
      return []
    }
  }

  /// Where the file first differs from that content; nil if it is exactly that, length included.
  ///
  /// A file that ends early or goes on differs at the smaller length. Read in pieces of 1 MiB.
  package static func firstDifference(
    of file: String, from pattern: Pattern, length: Int64
  ) throws -> Int64? {
    var offset: Int64 = 0
    let difference = try forEachPiece(of: file) { piece in
      defer { offset += Int64(piece.count) }
      let expected = piece.prefix(Int(max(0, min(Int64(piece.count), length - offset))))
      if let different = pattern.firstDifference(of: Array(expected), at: offset) {
        return different
      }
      return expected.count < piece.count ? length : nil
    }
    return difference ?? (offset == length ? nil : offset)
  }

  /// Whether two files have the same bytes; false where one cannot be opened. In pieces of 1 MiB.
  package static func areEqual(_ first: String, _ second: String) throws -> Bool {
    guard let left = FileHandle(forReadingAtPath: first),
      let right = FileHandle(forReadingAtPath: second)
    else { return false }
    defer {
      try? left.close()
      try? right.close()
    }
    while true {
      let piece = try left.read(upToCount: 1 << 20) ?? Data()
      let other = try right.read(upToCount: 1 << 20) ?? Data()
      if piece != other { return false }
      if piece.isEmpty { return true }
    }
  }

  /// Relative paths that are only in one of two directories or whose bytes differ, sorted.
  package static func differences(_ first: String, _ second: String) throws -> [String] {
    let (left, right) = (Set(try files(below: first)), Set(try files(below: second)))
    let changed = try left.intersection(right).filter {
      try !areEqual("\(first)/\($0)", "\(second)/\($0)")
    }
    return left.symmetricDifference(right).union(changed).sorted()
  }

  /// Calls `body` until it returns something or the file ends.
  private static func forEachPiece(of file: String, _ body: (Data) -> Int64?) throws -> Int64? {
    let handle = try FileHandle(forReadingFrom: URL(fileURLWithPath: file))
    defer { try? handle.close() }
    while let piece = try handle.read(upToCount: 1 << 20), !piece.isEmpty {
      if let result = body(piece) { return result }
    }
    return nil
  }
}

extension Pattern {
  /// Writes that many bytes of this content to a new file, in pieces of 1 MiB.
  package func write(to file: String, length: Int64) throws {
    _ = FileManager.default.createFile(atPath: file, contents: nil)
    let handle = try FileHandle(forWritingTo: URL(fileURLWithPath: file))
    defer { try? handle.close() }
    for start in stride(from: 0, to: length, by: 1 << 20) {
      try handle.write(contentsOf: Data(bytes(in: start..<min(length, start + (1 << 20)))))
    }
  }
}
