/// Converts the bytes of a list to items. It chooses the splitter and the parser by the first bytes.
struct ListCutter: Sendable {
  private let name: String
  private let choices: ListChoices
  private var splitter: (any ListSplitter)?
  private var parser: any ListParser
  /// The bytes that arrived before the splitter was chosen.
  private var beginning: [UInt8] = []
  private var hasNotice = false

  init(name: String, _ choices: ListChoices) {
    self.name = name
    self.choices = choices
    parser = choices.makeParser(name: name)
  }

  mutating func append(_ bytes: [UInt8]) {
    if splitter != nil {
      splitter?.append(bytes)
      return
    }
    beginning += bytes
    begin(isWhole: false)
  }

  mutating func end() {
    if splitter == nil { begin(isWhole: true) }
    splitter?.end()
  }

  /// Chooses the splitter as soon as enough bytes have arrived. If `isWhole`, no more bytes follow.
  private mutating func begin(isWhole: Bool) {
    let mayBeJSON = !choices.extractsURLs && [nil, .jsonl].contains(choices.format)
    let isDocument =
      mayBeJSON
      ? JSONSplitter.isDocument(beginning, isWhole: isWhole, name: name, choices.columns) : false
    guard let isDocument else { return }
    if isDocument {
      splitter = JSONSplitter()
      parser = JSONLines(choices.columns)
      hasNotice = choices.format == nil
    } else {
      // A web page may be a single line.
      let longest = choices.extractsURLs ? 16 << 20 : LineSplitter.longestLine
      splitter = LineSplitter(longestLine: longest)
    }
    splitter?.append(beginning)
    beginning = []
  }

  /// Returns the next item. Returns nil if more bytes are needed, or if ``last()`` must be called next.
  mutating func next() -> ListItem? {
    if let item = parser.pending() { return item }
    while let line = splitter?.next() {
      if let item = parser.parse(line) { return item }
    }
    return nil
  }

  /// Returns the next message after the last line, or nil if there is none.
  mutating func last() -> ListItem? {
    if hasNotice {
      hasNotice = false
      return .notice("Haul reads this list as JSON")
    }
    return parser.finish()
  }
}
