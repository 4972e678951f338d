/// Makes items of the bytes of a list: chooses by the first of them what cuts them and what reads that.
struct ListCutter: Sendable {
  private let name: String
  private let choices: ListChoices
  private var splitter: (any ListSplitter)?
  private var parser: any ListParser
  /// Bytes that did not suffice to decide.
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

  /// Decides as soon as the bytes that have come suffice.
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
      // A page may be a single line.
      let longest = choices.extractsURLs ? 16 << 20 : LineSplitter.longestLine
      splitter = LineSplitter(longestLine: longest)
    }
    splitter?.append(beginning)
    beginning = []
  }

  /// The next item; nil when more bytes are needed, or ``last()`` is next.
  mutating func next() -> ListItem? {
    if let item = parser.pending() { return item }
    while let line = splitter?.next() {
      if let item = parser.parse(line) { return item }
    }
    return nil
  }

  /// The message after the last line; nil for none.
  mutating func last() -> ListItem? {
    if hasNotice {
      hasNotice = false
      return .notice("read as JSON")
    }
    return parser.finish()
  }
}
