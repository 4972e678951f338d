/// A format of a list of jobs.
package enum ListFormat: String, CaseIterable, Sendable {
  /// A format with one URL per line. Blank lines and lines that begin with `#` are skipped.
  case plain
  /// The format of aria2: lines of URLs, each followed by indented lines with its options (aria2 manual, "Input File").
  case aria2
  /// The format `TsvHttpData-1.0` with URL, length, and MD5 in base64 (Storage Transfer Service, "Create a URL list"), or any
  /// other table with tabs.
  case tsv
  /// A format with one JSON object per line, whose members are named as in ``ListField``. An array of such objects, or of URLs,
  /// is also accepted.
  case jsonl
  /// Comma-separated values (RFC 4180), or another table whose first line contains the names of the fields.
  case csv

  /// The name of the format in a sentence.
  var title: String {
    switch self {
    case .plain: "lines of URLs"
    case .aria2: "an aria2 input file"
    case .tsv: "TsvHttpData-1.0"
    case .jsonl: "JSON lines"
    case .csv: "CSV"
    }
  }
}

/// Parses `ListFormat.plain`. White space around a URL is removed.
struct PlainLines: ListParser {
  func parse(_ line: ListLine) -> ListItem? {
    line.item { text throws(ListFault) in
      let url = Self.trimmed(text)
      if url.isEmpty || url.hasPrefix("#") { return nil }
      if Aria2Lines.option(url) != nil, url.count < text.count {
        throw ListFault("this line is an option of aria2. Use --format aria2 to read this list")
      }
      return ListEntry(line: line.number, url: String(try ListURL.alone(in: url)))
    }
  }

  static func trimmed(_ text: String) -> Substring {
    let isSpace = { (byte: UInt8) in byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t") }
    let bytes = text.utf8
    guard let first = bytes.firstIndex(where: { !isSpace($0) }),
      let last = bytes.lastIndex(where: { !isSpace($0) })
    else { return "" }
    return text[first...last]
  }
}
