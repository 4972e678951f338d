/// The body of a response that the sink (the receiver of the body) has refused. A short body is read to its end, so that the
/// next request can use the connection. Otherwise, every redirect and every missing file would cost a new handshake.
struct RefusedBody {
  /// The maximum number of bytes to read, so that the connection can be used again.
  private static let most = 64 << 10
  /// The maximum number of bytes to keep for the error.
  private static let kept = 16 << 10
  /// The time limit for reading the body.
  static let time = Duration.seconds(1)

  private(set) var beginning: [UInt8] = []
  private var left: Int

  /// Prepares to read the body; nil if it is better to close the connection immediately.
  init?(_ parsed: HeadParser.Parsed) {
    if parsed.isRaw { return nil }
    switch parsed.framing {
    case .noBody: left = 0
    case .length(let length) where length <= Self.most: left = Int(length)
    case .chunked, .stream: left = Self.most
    // The beginning of an error's body is useful, even if the whole body is too long to read.
    default:
      guard parsed.head.status >= 400 else { return nil }
      left = Self.kept
    }
  }

  /// Takes the next bytes. Returns false if the body exceeds the limit.
  mutating func take(_ piece: UnsafeRawBufferPointer) -> Bool {
    left -= piece.count
    unsafe beginning.append(contentsOf: piece.prefix(Self.kept - beginning.count))
    return left >= 0
  }
}
