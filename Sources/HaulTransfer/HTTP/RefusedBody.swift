/// The body of a response that the sink has refused. A short one is read to its end, so that its connection stays good for the
/// next request: a redirect or a missing file must not cost a handshake.
struct RefusedBody {
  /// The most bytes that are read for the connection's sake.
  private static let most = 64 << 10
  /// The most bytes that are kept, for the error.
  private static let kept = 16 << 10
  /// The longest time that it may take.
  static let time = Duration.seconds(1)

  private(set) var beginning: [UInt8] = []
  private var left: Int

  /// Nil where the connection should rather be closed at once.
  init?(_ parsed: HeadParser.Parsed) {
    if parsed.isRaw { return nil }
    switch parsed.framing {
    case .noBody: left = 0
    case .length(let length) where length <= Self.most: left = Int(length)
    case .chunked, .stream: left = Self.most
    // An error's text is worth a look even if its end is not.
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
