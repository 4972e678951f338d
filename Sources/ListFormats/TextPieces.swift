/// The bytes of a text, which are read on demand, from the start of a file or from the current position of standard input.
struct TextPieces: Sendable {
  private enum Stage: Sendable {
    case unopened
    case reading(BlockingFile)
    case ended
  }

  /// The number of bytes to request with one read.
  private static let size = 256 << 10

  private let source: ListSource
  private var stage = Stage.unopened

  /// Creates a reader without opening the text.
  init(_ source: ListSource) { self.source = source }

  /// Returns the next bytes; nil at the end, and after it.
  /// - Throws: if the text cannot be read, or if its first bytes are not text.
  mutating func next() async throws(ListError) -> [UInt8]? {
    let piece: [UInt8]
    switch stage {
    case .unopened:
      let file = try await BlockingFile.open(source)
      piece = try await file.read(atMost: Self.size)
      if let fault = TextCheck.fault(of: piece) { throw .noText(fault) }
      stage = .reading(file)
    case .reading(let file): piece = try await file.read(atMost: Self.size)
    case .ended: return nil
    }
    guard piece.isEmpty else { return piece }
    stage = .ended
    return nil
  }
}
