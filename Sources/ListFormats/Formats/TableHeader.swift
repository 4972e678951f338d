import HaulSystem

/// The meaning of a table's columns.
struct TableHeader: Sendable, Equatable {
  /// The field to read from each column, or nil for an ignored column.
  private(set) var columns: [ListMember?]
  /// The ignored columns, by name or number.
  let leftOut: [String]
  /// Whether these columns come from the table's first entry, because the table has no header.
  let isEntry: Bool
  /// Whether each line must have as many fields as the header.
  private let isStrict: Bool

  /// Determines the columns from the first line of a table. The line is a header with the names of the columns, or an entry
  /// with a URL. If an entry has several URLs, `choices` must say which column to use.
  ///
  /// Columns in `choices` override the names. Names that resemble a field are rejected only if `choices` is empty.
  init(first fields: [String], _ choices: ListColumns) throws(ListFault) {
    let cells = fields.map { String(PlainLines.trimmed($0)) }
    let urls = cells.indices.filter { ListURL.isOne(cells[$0]) }
    isEntry = !urls.isEmpty && !choices.hasNames
    isStrict = !isEntry && choices.isEmpty
    columns = cells.map { _ in nil }
    if !isEntry {
      for (index, cell) in cells.enumerated() {
        columns[index] = choices.isEmpty ? try ListMember.certain(cell) : ListMember.known(cell)
      }
    }
    for (column, field) in choices.chosen {
      let index = try Self.index(of: column, in: cells)
      columns = columns.map { $0?.field == field ? nil : $0 }
      while columns.count <= index { columns.append(nil) }
      columns[index] = ListMember(field, called: index < cells.count ? cells[index] : "")
    }
    if isEntry, choices.url == nil {
      guard urls.count == 1 else {
        let numbers = urls.map { String($0 + 1) }
        throw ListFault(
          "columns \(numbers.dropLast().joined(separator: ", ")) and \(numbers.last ?? "") contain URLs. Use --url-column to choose one"
        )
      }
      columns[urls[0]] = ListMember(.url)
    }
    let names = isEntry ? cells.indices.map { String($0 + 1) } : cells
    leftOut = zip(names, columns).filter { $0.1 == nil && !$0.0.isEmpty }.map(\.0)
    try checkColumns(cells)
  }

  private static func index(of column: ListColumn, in cells: [String]) throws(ListFault) -> Int {
    switch column {
    case .number(let number): return number - 1
    case .named(let name):
      if let index = cells.firstIndex(where: { $0.lowercased() == name.lowercased() }) {
        return index
      }
      throw ListFault(
        "no column is called '\(SafeText.visible(name))'. \(listed(cells))")
    }
  }

  private func checkColumns(_ cells: [String]) throws(ListFault) {
    let fields = columns.compactMap { $0?.field }
    for (index, field) in fields.enumerated() where fields[..<index].contains(field) {
      throw ListFault("the header has two columns named \(field.name)")
    }
    guard fields.contains(.url) else {
      throw ListFault(
        "no column is called url. \(Self.listed(cells)). Use --url-column to choose the one with the URLs"
      )
    }
  }

  /// Returns the sentence that lists the columns.
  private static func listed(_ cells: [String]) -> String {
    var shown = cells.prefix(12).map { "'\(SafeText.visible($0))'" }
    let last = cells.count > 12 ? "others" : shown.popLast() ?? ""
    return shown.isEmpty
      ? "The only column is \(last)"
      : "The columns are \(shown.joined(separator: ", ")) and \(last)"
  }

  /// Returns the entry for a line.
  func entry(_ fields: [String], line: Int) throws(ListFault) -> ListEntry {
    if isStrict, fields.count != columns.count {
      throw ListFault(
        "the line has \(fields.count) \(fields.count == 1 ? "field" : "fields"), but the header has \(columns.count)"
      )
    }
    var entry = ListEntry(line: line, url: "")
    for (member, field) in zip(columns, fields) {
      guard let member else { continue }
      let value = isStrict ? field : String(PlainLines.trimmed(field))
      if !value.isEmpty { try member.put(value, into: &entry) }
    }
    if entry.url.isEmpty { throw ListFault("the url is empty") }
    return entry
  }
}
