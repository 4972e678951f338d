/// A value that can be sent as a parameter `$1`, `$2`… in PostgreSQL's text format.
package protocol PostgresEncodable: Sendable {
  /// The value as text, in the form that the server reads for the PostgreSQL type. The text contains no NUL.
  var postgresText: String { get }
}

extension PostgresEncodable where Self: BinaryInteger {
  package var postgresText: String { String(self) }
}

extension Int: PostgresEncodable {}
extension Int16: PostgresEncodable {}
extension Int32: PostgresEncodable {}
extension Int64: PostgresEncodable {}

extension Double: PostgresEncodable {
  package var postgresText: String { description }
}

extension Bool: PostgresEncodable {
  package var postgresText: String { self ? "t" : "f" }
}

extension String: PostgresEncodable {
  package var postgresText: String { self }
}

/// `[UInt8]` is a `bytea`. Every other array is a PostgreSQL array.
extension Array: PostgresEncodable where Element: PostgresElement {
  package var postgresText: String { Element.text(ofArray: self) }
}
