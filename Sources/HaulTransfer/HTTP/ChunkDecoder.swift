/// Finds the content in a chunked body (RFC 9112 §7.1), piece by piece, if libcurl did not see that the body is
/// chunked.
struct ChunkDecoder: Sendable {
  /// The body is not chunked, although its head says so.
  struct Malformed: Error {}

  private enum State {
    /// The decoder is in the line with a chunk's size, and has read `digits` digits. The next state is `content`, or `trailer`
    /// if the size is 0.
    case size(value: Int64, digits: Int, isExtension: Bool)
    /// The decoder is in a chunk, with `rest` bytes still to come. The next state is `lineEnd`.
    case content(rest: Int64)
    /// The decoder is between a chunk and the next line. The next state is `size`.
    case lineEnd
    /// The decoder is after the last chunk, and has read `length` bytes of the current line. An empty line leads to `done`.
    case trailer(length: Int)
    case done
  }

  private static let lineFeed = UInt8(ascii: "\n")
  private static let carriageReturn = UInt8(ascii: "\r")
  private static let nextSize = State.size(value: 0, digits: 0, isExtension: false)

  private var state = nextSize
  private var lineBytes = 0

  /// Whether the last chunk and its trailer have arrived.
  var isDone: Bool {
    if case .done = state { true } else { false }
  }

  /// Takes the next bytes of the body. Returns the ranges of `bytes` that are content, in ascending order. Bytes after the end
  /// are ignored.
  mutating func take(_ bytes: UnsafeRawBufferPointer) throws(Malformed) -> [Range<Int>] {
    var content: [Range<Int>] = []
    var index = 0
    while index < bytes.count, !isDone {
      if case .content(let rest) = state {
        let count = Int(min(rest, Int64(bytes.count - index)))
        content.append(index..<index + count)
        index += count
        state = rest == Int64(count) ? .lineEnd : .content(rest: rest - Int64(count))
      } else {
        try take(unsafe bytes[index])
        index += 1
      }
    }
    return content
  }

  /// Takes a byte outside of the content.
  private mutating func take(_ byte: UInt8) throws(Malformed) {
    lineBytes = byte == Self.lineFeed ? 0 : lineBytes + 1
    if lineBytes > HeadParser.byteLimit { throw Malformed() }
    switch state {
    case .size(let value, let digits, let isExtension):
      if byte == Self.lineFeed {
        guard digits > 0 else { throw Malformed() }
        state = value == 0 ? .trailer(length: 0) : .content(rest: value)
      } else if !isExtension, let digit = Character(Unicode.Scalar(byte)).hexDigitValue {
        guard digits < 15 else { throw Malformed() }
        state = .size(value: value * 16 + Int64(digit), digits: digits + 1, isExtension: false)
      } else {
        guard digits > 0,
          isExtension || byte == Self.carriageReturn || byte.isBlank || byte == UInt8(ascii: ";")
        else { throw Malformed() }
        state = .size(value: value, digits: digits, isExtension: true)
      }
    case .lineEnd:
      if byte == Self.lineFeed {
        state = Self.nextSize
      } else if byte != Self.carriageReturn {
        throw Malformed()
      }
    case .trailer(let length):
      if byte == Self.lineFeed {
        state = length == 0 ? .done : .trailer(length: 0)
      } else if byte != Self.carriageReturn {
        state = .trailer(length: length + 1)
      }
    case .content, .done: break
    }
  }
}
