import JobModel

/// How a list is read, as far as the list does not say it itself.
package struct ListChoices: Sendable, Equatable {
  /// nil: by the list's name and its first lines.
  package var format: ListFormat?
  /// Which columns of a table, or members of JSON objects, are read.
  package var columns = ListColumns()
  /// Takes every URL out of a text of any kind.
  package var extractsURLs = false

  package init(format: ListFormat? = nil) { self.format = format }

  func makeParser(name: String) -> any ListParser {
    if extractsURLs { return ExtractedURLs() }
    switch format {
    case .plain: return PlainLines()
    case .aria2: return Aria2Lines(isCertain: true)
    case .tsv: return TSVLines(columns)
    case .jsonl: return JSONLines(columns)
    case .csv: return TableLines(columns)
    case nil: return AnyLines(name: name, columns: columns)
    }
  }
}

/// The columns of a table that are read under another name than the one that a field has.
package struct ListColumns: Sendable, Equatable {
  package var url: ListColumn?
  package var name: ListColumn?
  package var digest: ListColumn?

  package init() {}

  /// Whether the first line, or the name of a field, tells everything.
  package var isEmpty: Bool { self == ListColumns() }

  /// Whether one is chosen by its name, which a header must have.
  var hasNames: Bool {
    chosen.contains { if case .named = $0.column { true } else { false } }
  }

  /// Each with the field that it holds.
  var chosen: [(column: ListColumn, field: ListField)] {
    [(url, .url), (name, .path), (digest, .option(.digest))].compactMap { column, field in
      column.map { ($0, field) }
    }
  }
}

/// A column of a table.
package enum ListColumn: Sendable, Hashable, CustomStringConvertible {
  /// Counted from 1.
  case number(Int)
  /// As the first line of the table calls it, in any case of letters.
  case named(String)

  /// `3`, or `upstream_url`; nil for nothing and for 0.
  package init?(_ text: String) {
    let name = PlainLines.trimmed(text)
    if name.isEmpty { return nil }
    guard name.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }) else {
      self = .named(String(name))
      return
    }
    guard let number = Int(name), (1...10_000).contains(number) else { return nil }
    self = .number(number)
  }

  package var description: String {
    switch self {
    case .number(let number): String(number)
    case .named(let name): name
    }
  }
}
