/// A value that can be bound to `$1`, `$2`… in PostgreSQL's text format.
package protocol PostgresEncodable: Sendable {
  /// The value as the server's input function for its type reads it. Holds no NUL.
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

/// `[UInt8]` is `bytea`; every other array is an array of the server's.
extension Array: PostgresEncodable where Element: PostgresElement {
  package var postgresText: String { Element.text(ofArray: self) }
}
