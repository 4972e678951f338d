/// A value that can be read from PostgreSQL's text format.
package protocol PostgresDecodable: Sendable {
  /// Reads a value from UTF-8 text that the server's output function for the type wrote. Returns nil if the text is not a value
  /// of this type, such as an integer out of range.
  init?(postgresText: ArraySlice<UInt8>)
  /// The value that stands for SQL's NULL; nil if NULL is an error.
  static var null: Self? { get }
}

extension PostgresDecodable {
  package static var null: Self? { nil }
}

extension PostgresDecodable where Self: FixedWidthInteger {
  package init?(postgresText: ArraySlice<UInt8>) {
    self.init(String(decoding: postgresText, as: UTF8.self), radix: 10)
  }
}

extension Int: PostgresDecodable {}
extension Int16: PostgresDecodable {}
extension Int32: PostgresDecodable {}
extension Int64: PostgresDecodable {}

extension Double: PostgresDecodable {
  package init?(postgresText: ArraySlice<UInt8>) {
    self.init(String(decoding: postgresText, as: UTF8.self))
  }
}

extension Bool: PostgresDecodable {
  package init?(postgresText: ArraySlice<UInt8>) {
    switch postgresText {
    case [UInt8(ascii: "t")]: self = true
    case [UInt8(ascii: "f")]: self = false
    default: return nil
    }
  }
}

extension String: PostgresDecodable {
  package init?(postgresText: ArraySlice<UInt8>) {
    self.init(decoding: postgresText, as: UTF8.self)
  }
}

extension Optional: PostgresDecodable where Wrapped: PostgresDecodable {
  package init?(postgresText: ArraySlice<UInt8>) {
    guard let value = Wrapped(postgresText: postgresText) else { return nil }
    self = .some(value)
  }

  package static var null: Self? { .some(.none) }
}

/// `[UInt8]` is a `bytea`. Every other array is a PostgreSQL array.
extension Array: PostgresDecodable where Element: PostgresElement {
  package init?(postgresText: ArraySlice<UInt8>) {
    guard let elements = Element.array(fromText: postgresText) else { return nil }
    self = elements
  }
}
