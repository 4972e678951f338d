/// Writes fields and lines of CSV (RFC 4180).
package enum CSVLine {
  /// Returns the fields as one line with its line ending.
  package static func of(_ fields: [String]) -> String {
    fields.map(field).joined(separator: ",") + "\r\n"
  }

  /// Returns a field. Encloses it in quotation marks if its text requires them.
  static func field(_ text: String) -> String {
    guard text.utf8.contains(where: { ",\"\r\n".utf8.contains($0) }) else { return text }
    // By byte: a quotation mark with a combining mark after it is another Character.
    let doubled = text.utf8.flatMap { $0 == UInt8(ascii: "\"") ? [$0, $0] : [$0] }
    return "\"\(String(decoding: doubled, as: UTF8.self))\""
  }
}
