/// Reads a file that replaces the URLs of existing jobs. Each line contains a new URL, or an old URL and a new URL with blanks
/// between them. Empty lines and lines that begin with `#` are ignored.
package enum URLMap {
  /// A line of the file.
  package struct Line: Sendable, Equatable {
    /// The number of the line, counted from 1.
    package let number: Int
    /// The job's current URL; nil if it differs from `new` only in the query.
    package let old: String?
    package let new: String
  }

  /// A valid line of the file, or a problem with a line.
  package enum Item: Sendable, Equatable {
    case line(Line)
    case problem(line: Int, String)
  }

  private static let pieceSize = 256 << 10

  /// Reads all lines of the file except ignored lines.
  ///
  /// - Throws: `ListError` if the file cannot be read or is not text.
  package static func read(_ source: ListSource) async throws(ListError) -> [Item] {
    let file = try await BlockingFile.open(source)
    var splitter = LineSplitter()
    var items: [Item] = []
    var isFirst = true
    while true {
      let piece = try await file.read(atMost: pieceSize)
      if isFirst, let fault = TextCheck.fault(of: piece) { throw .noText(fault) }
      isFirst = false
      if piece.isEmpty { splitter.end() } else { splitter.append(piece) }
      while let line = splitter.next() {
        if let item = item(of: line) { items.append(item) }
      }
      if piece.isEmpty { return items }
    }
  }

  static func item(of line: ListLine) -> Item? {
    switch line.text {
    case .failure(let fault): return .problem(line: line.number, fault.reason)
    case .success(let text):
      let words = text.split { $0 == " " || $0 == "\t" }.map(String.init)
      guard let first = words.first, !first.hasPrefix("#") else { return nil }
      switch words.count {
      case 1: return .line(Line(number: line.number, old: nil, new: first))
      case 2: return .line(Line(number: line.number, old: first, new: words[1]))
      default:
        return .problem(
          line: line.number, "the line must have one URL, or an old and a new URL")
      }
    }
  }
}
