/// Cuts the lines of a table into fields.
struct TableFields: Sendable, Equatable {
  /// The byte between two fields; nil for any run of blanks.
  let separator: UInt8?

  static let comma = TableFields(separator: UInt8(ascii: ","))
  static let tab = TableFields(separator: UInt8(ascii: "\t"))
  static let semicolon = TableFields(separator: UInt8(ascii: ";"))
  static let blanks = TableFields(separator: nil)

  /// The separator that a first line shows: a tab, else a semicolon or a comma, whichever it has more of; else a comma, or
  /// blanks where the columns of any text are asked for.
  static func shown(by line: String, orBlanks: Bool) -> TableFields {
    if line.utf8.contains(UInt8(ascii: "\t")) { return .tab }
    let commas = line.utf8.count { $0 == UInt8(ascii: ",") }
    let semicolons = line.utf8.count { $0 == UInt8(ascii: ";") }
    if commas + semicolons > 0 { return semicolons > commas ? .semicolon : .comma }
    return orBlanks && !line.hasPrefix("\"") ? .blanks : .comma
  }

  /// What a line `sep=;` says, which spreadsheets write before a table; nil for any other line.
  static func stated(by line: String) -> TableFields? {
    let bytes = Array(line.utf8)
    guard bytes.count == 5, line.lowercased().hasPrefix("sep=") else { return nil }
    return TableFields(separator: bytes[4])
  }

  /// The fields of a record that is one line (RFC 4180 §2).
  func fields(of text: String) throws(ListFault) -> [String] {
    guard let separator else {
      return text.split { $0 == " " || $0 == "\t" }.map(String.init)
    }
    let quote = UInt8(ascii: "\"")
    var fields: [String] = []
    var rest = text.utf8[...]
    while true {
      var field: [UInt8] = []
      if rest.first == quote {
        field = try Self.quoted(&rest)
        guard rest.isEmpty || rest.first == separator else {
          throw ListFault(
            "a \(separatorName) must follow after a closing quotation mark")
        }
      } else {
        let end = rest.firstIndex(of: separator) ?? rest.endIndex
        field += rest[..<end]
        rest = rest[end...]
        // Texts with tabs between are seldom quoted, and then a quotation mark means itself.
        if separator != UInt8(ascii: "\t"), field.contains(quote) {
          throw ListFault("a field that contains a quotation mark must be in quotation marks")
        }
      }
      fields.append(String(decoding: field, as: UTF8.self))
      if rest.isEmpty { return fields }
      rest = rest.dropFirst()
    }
  }

  /// Takes a field in quotation marks from the start of `rest`.
  private static func quoted(_ rest: inout Substring.UTF8View) throws(ListFault) -> [UInt8] {
    let quote = UInt8(ascii: "\"")
    var field: [UInt8] = []
    rest = rest.dropFirst()
    while true {
      guard let end = rest.firstIndex(of: quote) else {
        throw ListFault("a quotation mark is not closed on its line")
      }
      field += rest[..<end]
      rest = rest[end...].dropFirst()
      guard rest.first == quote else { return field }
      field.append(quote)
      rest = rest.dropFirst()
    }
  }

  private var separatorName: String {
    switch separator {
    case UInt8(ascii: ","): "comma"
    case UInt8(ascii: ";"): "semicolon"
    case UInt8(ascii: "\t"): "tab"
    default: "separator"
    }
  }
}
