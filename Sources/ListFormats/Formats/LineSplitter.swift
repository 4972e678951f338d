/// A line of a list, without the line ending.
struct ListLine: Equatable {
  /// The number of the line, counted from 1.
  var number: Int
  /// The text of the line, or the reason why it cannot be read.
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

/// Splits the bytes of a list, which arrive in pieces, into lines for a parser.
protocol ListSplitter: Sendable {
  /// Adds the next piece of the list.
  mutating func append(_ bytes: [UInt8])

  /// Marks the end of the list. No more pieces follow.
  mutating func end()

  /// Returns the next line. Returns nil if the next piece is needed first, or after the last line.
  mutating func next() -> ListLine?
}

/// Splits bytes that arrive in pieces into lines. Holds the current piece and at most one unfinished line. Lines end in LF or
/// CR LF, and the last line may have no ending. A byte order mark at the very start is dropped.
struct LineSplitter: ListSplitter {
  /// The maximum length of a line in most lists, in bytes, without the line ending.
  static let longestLine = 64 << 10

  /// The maximum length of a line in this list, in bytes, without the line ending.
  private let longest: Int

  private var buffer: [UInt8] = []
  /// The index in `buffer` at which the next line begins.
  private var start = 0
  private var number = 0
  /// Whether the current line is too long. The bytes received of this line are already dropped.
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
    // An unfinished line may still include the CR of its line ending.
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
