/// The formats a list of jobs can be in.
package enum ListFormat: String, CaseIterable, Sendable {
  /// One URL a line; blank lines and lines that start with `#` are skipped.
  case plain
  /// Lines of URLs, each followed by indented lines with its options (aria2 manual, "Input File").
  case aria2
  /// `TsvHttpData-1.0` (Storage Transfer Service, "Create a URL list"): URL, length, MD5 in base64.
  case tsv
  /// A JSON object a line, with the names of ``ListField``.
  case jsonl
  /// Comma-separated values (RFC 4180), the first line names the fields.
  case csv

  /// The format of the list called `name` whose first line that is neither blank nor a comment is `line`.
  ///
  /// By its ending, else by that line: `TsvHttpData-1.0`, an object, or a header that names `url`. nil: lines of
  /// URLs, perhaps with options of aria2's.
  static func recognised(name: String, line: String) -> ListFormat? {
    let ending = name.lastIndex(of: ".").map { name[$0...].dropFirst().lowercased() }
    switch ending {
    case "jsonl", "ndjson": return .jsonl
    case "csv": return .csv
    case "tsv": return .tsv
    default: break
    }
    if line == TSVLines.heading { return .tsv }
    if line.drop(while: { $0 == " " || $0 == "\t" }).first == "{" { return .jsonl }
    if let fields = try? CSVLines.fields(of: line),
      (try? CSVLines.header(fields))?.contains(.url) == true
    {
      return .csv
    }
    return nil
  }

  /// What a list in this format is called in a sentence.
  var title: String {
    switch self {
    case .plain: "lines of URLs"
    case .aria2: "an input file of aria2"
    case .tsv: "TsvHttpData-1.0"
    case .jsonl: "JSON lines"
    case .csv: "CSV"
    }
  }

  func makeParser() -> any ListParser {
    switch self {
    case .plain: PlainLines()
    case .aria2: Aria2Lines(isCertain: true)
    case .tsv: TSVLines()
    case .jsonl: JSONLines()
    case .csv: CSVLines()
    }
  }
}

/// Chooses the parser by the first line that says something, and tells at the end which that was.
struct AnyLines: ListParser {
  let name: String
  private var parser: (any ListParser)?
  private var notice: String?

  init(name: String) { self.name = name }

  mutating func parse(_ line: ListLine) -> ListItem? {
    if parser == nil {
      guard let text = try? line.text.get() else { return line.item { _ in nil } }
      let isBlank = text.allSatisfy { $0 == " " || $0 == "\t" }
      if isBlank || text.hasPrefix("#") { return nil }
      let format = ListFormat.recognised(name: name, line: text)
      parser = format?.makeParser() ?? Aria2Lines(isCertain: false)
      notice = format.map { "read as \($0.title)" }
    }
    return parser?.parse(line)
  }

  mutating func finish() -> ListItem? {
    if let item = parser?.finish() { return item }
    defer { notice = nil }
    return notice.map { .notice($0) }
  }
}

/// `ListFormat.plain`. White space around a URL is dropped.
struct PlainLines: ListParser {
  func parse(_ line: ListLine) -> ListItem? {
    line.item { text throws(ListFault) in
      let url = Self.trimmed(text)
      if url.isEmpty || url.hasPrefix("#") { return nil }
      if Aria2Lines.option(url) != nil, url.count < text.count {
        throw ListFault("an option of aria2's in lines of URLs; --format aria2 reads it")
      }
      return ListEntry(line: line.number, url: String(url))
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
