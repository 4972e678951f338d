/// The files of a manifest, which are read on demand. Memory use does not depend on the length of the manifest. The format is
/// recognised from the content.
package struct ManifestReader: Sendable {
  private enum Stage: Sendable {
    case unopened
    case reading(BlockingFile)
    case ended
  }

  /// The number of bytes to request with one read.
  private static let pieceSize = 256 << 10

  private let source: ListSource
  private var lines = LineSplitter()
  private var parser = ManifestParser()
  private var stage = Stage.unopened

  /// Creates a reader without opening the manifest.
  package init(_ source: ListSource) { self.source = source }

  /// Returns the next item; nil at the end. A line that names no file is an item, not an error.
  ///
  /// - Throws: if the manifest cannot be read, or is not text.
  package mutating func next() async throws(ListError) -> ManifestItem? {
    while true {
      while let line = lines.next() {
        if let item = parser.parse(line) { return item }
      }
      switch stage {
      case .unopened:
        let file = try await BlockingFile.open(source)
        let piece = try await file.read(atMost: Self.pieceSize)
        if let fault = TextCheck.fault(of: piece) { throw .noText(fault) }
        take(piece, of: file)
      case .reading(let file): take(try await file.read(atMost: Self.pieceSize), of: file)
      case .ended: return parser.finish()
      }
    }
  }

  private mutating func take(_ piece: [UInt8], of file: BlockingFile) {
    if piece.isEmpty {
      lines.end()
      stage = .ended
    } else {
      lines.append(piece)
      stage = .reading(file)
    }
  }
}
