import JobModel

/// The user's choices for reading a list.
package struct ListChoices: Sendable, Equatable {
  /// The format of the list; nil to recognise it by the list's name and first lines.
  package var format: ListFormat?
  /// The columns of a table, or the members of JSON objects, that the user chose.
  package var columns = ListColumns()
  /// Whether to extract every URL from a text of any kind.
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

/// The columns that the user chose for some fields. For a field without a choice, Haul uses the list's column with the name of
/// the field.
package struct ListColumns: Sendable, Equatable {
  package var url: ListColumn?
  package var name: ListColumn?
  package var digest: ListColumn?

  package init() {}

  /// Whether the user chose no column, so that the first line or the position determines all columns.
  package var isEmpty: Bool { self == ListColumns() }

  /// Whether a column is chosen by name. The table must then have a header.
  var hasNames: Bool {
    chosen.contains { if case .named = $0.column { true } else { false } }
  }

  /// The chosen columns with their fields.
  var chosen: [(column: ListColumn, field: ListField)] {
    [(url, .url), (name, .path), (digest, .option(.digest))].compactMap { column, field in
      column.map { ($0, field) }
    }
  }
}

/// A column of a table.
package enum ListColumn: Sendable, Hashable, CustomStringConvertible {
  /// The column with this number, counted from 1.
  case number(Int)
  /// The column with this name in the first line of the table, in upper or lower case.
  case named(String)

  /// Parses a number such as `3` or a name such as `upstream_url`. Returns nil for an empty text and for 0.
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
