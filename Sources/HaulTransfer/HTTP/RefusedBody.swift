/// The body of a response that the sink has refused. A short body is read to its end, so that the next request can use
/// the connection: a redirect or a missing file must not cost a handshake.
struct RefusedBody {
  /// The largest number of bytes to read to keep the connection.
  private static let most = 64 << 10
  /// The largest number of bytes to keep for the error.
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
    // The text of an error is worth reading, even if the rest of the body is not.
    default:
      guard parsed.head.status >= 400 else { return nil }
      left = Self.kept
    }
  }

  /// Takes the next bytes. Returns whether more may follow.
  mutating func take(_ piece: UnsafeRawBufferPointer) -> Bool {
    left -= piece.count
    unsafe beginning.append(contentsOf: piece.prefix(Self.kept - beginning.count))
    return left >= 0
  }
}
