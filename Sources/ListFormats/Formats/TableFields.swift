/// Splits the lines of a table into fields.
struct TableFields: Sendable, Equatable {
  /// The byte between two fields. Nil means any number of blanks.
  let separator: UInt8?

  static let comma = TableFields(separator: UInt8(ascii: ","))
  static let tab = TableFields(separator: UInt8(ascii: "\t"))
  static let semicolon = TableFields(separator: UInt8(ascii: ";"))
  static let blanks = TableFields(separator: nil)

  /// Returns the separator for a table with this first line: a tab if the line contains one, otherwise the more frequent of
  /// semicolon and comma. If it contains none of them, returns blanks if `orBlanks` is true, and otherwise a comma.
  static func shown(by line: String, orBlanks: Bool) -> TableFields {
    if line.utf8.contains(UInt8(ascii: "\t")) { return .tab }
    let commas = line.utf8.count { $0 == UInt8(ascii: ",") }
    let semicolons = line.utf8.count { $0 == UInt8(ascii: ";") }
    if commas + semicolons > 0 { return semicolons > commas ? .semicolon : .comma }
    return orBlanks && !line.hasPrefix("\"") ? .blanks : .comma
  }

  /// Returns the separator from a line such as `sep=;`, which spreadsheets write before a table. Returns nil for any other
  /// line.
  static func stated(by line: String) -> TableFields? {
    let bytes = Array(line.utf8)
    guard bytes.count == 5, line.lowercased().hasPrefix("sep=") else { return nil }
    return TableFields(separator: bytes[4])
  }

  /// Returns the fields of a record on one line (RFC 4180 §2).
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
            "a \(separatorName) must follow a closing quotation mark")
        }
      } else {
        let end = rest.firstIndex(of: separator) ?? rest.endIndex
        field += rest[..<end]
        rest = rest[end...]
        // Tables with tabs rarely quote texts. So in such a table a quotation mark within a field is an ordinary character.
        if separator != UInt8(ascii: "\t"), field.contains(quote) {
          throw ListFault("a field that contains a quotation mark must be in quotation marks")
        }
      }
      fields.append(String(decoding: field, as: UTF8.self))
      if rest.isEmpty { return fields }
      rest = rest.dropFirst()
    }
  }

  /// Removes a quoted field from the start of `rest` and returns its content.
  private static func quoted(_ rest: inout Substring.UTF8View) throws(ListFault) -> [UInt8] {
    let quote = UInt8(ascii: "\"")
    var field: [UInt8] = []
    rest = rest.dropFirst()
    while true {
      guard let end = rest.firstIndex(of: quote) else {
        throw ListFault("the line has no closing quotation mark")
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
