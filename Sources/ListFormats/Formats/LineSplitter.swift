/// A line of a list, without its end.
struct ListLine: Equatable {
  /// Counted from 1.
  var number: Int
  /// What stands in it, or why that cannot be known.
  var text: Result<String, ListFault>

  init(number: Int, text: String) {
    self.number = number
    self.text = .success(text)
  }

  init(number: Int, fault: String) {
    self.number = number
    text = .failure(ListFault(fault))
  }
}

/// Cuts the bytes of a list, which arrive piece by piece, into what a parser takes.
protocol ListSplitter: Sendable {
  /// The next piece.
  mutating func append(_ bytes: [UInt8])

  /// No more pieces follow.
  mutating func end()

  /// The next line, or what stands for one; nil when the next piece is needed first, or after the last.
  mutating func next() -> ListLine?
}

/// Cuts bytes that arrive piece by piece into lines. Holds the piece being cut and at most one
/// unfinished line. Lines end in LF or CR LF, the last one perhaps in nothing; a byte order mark
/// at the very start is dropped.
struct LineSplitter: ListSplitter {
  /// Bytes of a line without its end, in most lists.
  static let longestLine = 64 << 10

  /// Bytes of a line without its end.
  private let longest: Int

  private var buffer: [UInt8] = []
  /// Where the next line starts in `buffer`.
  private var start = 0
  private var number = 0
  /// In a line that is too long: what has come of it is gone.
  private var isSkipping = false
  private var isEnded = false

  init(longestLine: Int = Self.longestLine) { longest = longestLine }

  mutating func append(_ bytes: [UInt8]) {
    buffer.removeFirst(start)
    start = 0
    buffer += bytes
  }

  mutating func end() { isEnded = true }

  mutating func next() -> ListLine? {
    let end = buffer[start...].firstIndex(of: UInt8(ascii: "\n"))
    // An unfinished line may still lack its CR LF.
    if end == nil, !isEnded, buffer.count - start > longest + 1 {
      isSkipping = true
      start = buffer.count
    }
    guard
      let stop = end ?? (isEnded && (start < buffer.count || isSkipping) ? buffer.count : nil)
    else { return nil }
    var line = buffer[start..<stop]
    start = end == nil ? stop : stop + 1
    number += 1
    if number == 1, line.starts(with: [0xef, 0xbb, 0xbf]) { line = line.dropFirst(3) }
    if line.last == UInt8(ascii: "\r") { line = line.dropLast() }
    defer { isSkipping = false }
    if isSkipping || line.count > longest {
      return ListLine(number: number, fault: "the line is longer than \(longest >> 10) KiB")
    }
    guard let text = String(validating: line, as: UTF8.self) else {
      return ListLine(number: number, fault: "the line is not UTF-8")
    }
    return ListLine(number: number, text: text)
  }
}
