/// The files of a manifest, which are read on demand. Memory use does not depend on the length of the manifest. The format is
/// recognised from the content.
package struct ManifestReader: Sendable {
  private var pieces: TextPieces
  private var lines = LineSplitter()
  private var parser = ManifestParser()
  private var hasEnded = false

  /// Creates a reader without opening the manifest.
  package init(_ source: ListSource) { pieces = TextPieces(source) }

  /// Returns the next item; nil at the end. A line that names no file is an item, not an error.
  ///
  /// - Throws: if the manifest cannot be read, or is not text.
  package mutating func next() async throws(ListError) -> ManifestItem? {
    while true {
      while let line = lines.next() {
        if let item = parser.parse(line) { return item }
      }
      if hasEnded { return parser.finish() }
      if let piece = try await pieces.next() {
        lines.append(piece)
      } else {
        lines.end()
        hasEnded = true
      }
    }
  }
}
