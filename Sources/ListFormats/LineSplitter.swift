/// A line of a list, without its end.
struct ListLine: Equatable {
  /// Counted from 1.
  var number: Int
  var text: String
}

/// Cuts bytes that arrive piece by piece into lines. Holds the piece being cut and at most one
/// unfinished line. Lines end in LF or CR LF, the last one perhaps in nothing; a byte order mark
/// at the very start is dropped.
struct LineSplitter {
  /// Bytes of a line without its end.
  static let longestLine = 64 << 10

  private var buffer: [UInt8] = []
  /// Where the next line starts in `buffer`.
  private var start = 0
  private var number = 0
  private var isEnded = false

  /// The next piece.
  mutating func append(_ bytes: [UInt8]) {
    buffer.removeFirst(start)
    start = 0
    buffer += bytes
  }

  /// No more pieces follow.
  mutating func end() { isEnded = true }

  /// The next whole line; nil when the next piece is needed first, or after the last line.
  mutating func next() throws(ListError) -> ListLine? {
    let end = buffer[start...].firstIndex(of: UInt8(ascii: "\n"))
    // An unfinished line may still lack its CR LF.
    if (end ?? buffer.count) - start > Self.longestLine + 1 {
      throw .lineTooLong(line: number + 1)
    }
    guard let stop = end ?? (isEnded && start < buffer.count ? buffer.count : nil) else {
      return nil
    }
    var line = buffer[start..<stop]
    start = end == nil ? stop : stop + 1
    number += 1
    if number == 1, line.starts(with: [0xef, 0xbb, 0xbf]) { line = line.dropFirst(3) }
    if line.last == UInt8(ascii: "\r") { line = line.dropLast() }
    if line.count > Self.longestLine { throw .lineTooLong(line: number) }
    guard let text = String(validating: line, as: UTF8.self) else {
      throw .notUTF8(line: number)
    }
    return ListLine(number: number, text: text)
  }
}
