import HaulSystem

/// A JSON value for output. An object keeps the order of its members.
package enum JSONValue: Sendable, Equatable {
  case null
  case bool(Bool)
  case int(Int64)
  /// A number. Infinity and NaN are printed as null, because JSON has no such numbers.
  case double(Double)
  case string(String)
  case array([JSONValue])
  case object([Member])

  /// A member of an object: a name and a value.
  package struct Member: Sendable, Equatable {
    package var name: String
    package var value: JSONValue

    /// Creates a member of an object.
    package init(_ name: String, _ value: JSONValue) {
      self.name = name
      self.value = value
    }
  }

  /// Creates a number from any integer type. A value outside `Int64` becomes the nearest value of `Int64`. Nil gives null.
  package static func number(_ value: (some BinaryInteger)?) -> JSONValue {
    value.map { .int(Int64(clamping: $0)) } ?? .null
  }

  /// Creates a string; nil gives null.
  package static func text(_ value: String?) -> JSONValue { value.map(JSONValue.string) ?? .null }

  /// Returns whether this value comes before `other` in a sorted list: first null and Boolean values, then numbers, then
  /// strings.
  package func precedes(_ other: JSONValue) -> Bool {
    switch (self, other) {
    case (.int(let one), .int(let two)): one < two
    case (.string(let one), .string(let two)): one < two
    default: sortKey < other.sortKey
    }
  }

  private var sortKey: (rank: Int, number: Double, text: String) {
    switch self {
    case .null: (0, 0, "")
    case .bool(let flag): (1, flag ? 1 : 0, "")
    case .int(let number): (2, Double(number), "")
    case .double(let number): (2, number, "")
    case .string(let text): (3, 0, text)
    case .array, .object: (4, 0, line)
    }
  }

  /// The value as one line of JSON, without a line ending. It is safe for a terminal, because control characters are escaped.
  package var line: String {
    var bytes: [UInt8] = []
    append(to: &bytes)
    return String(decoding: bytes, as: UTF8.self)
  }

  private func append(to bytes: inout [UInt8]) {
    switch self {
    case .null: bytes += "null".utf8
    case .bool(let flag): bytes += (flag ? "true" : "false").utf8
    case .int(let number): bytes += String(number).utf8
    case .double(let number): bytes += (number.isFinite ? String(number) : "null").utf8
    case .string(let text): SafeText.appendJSONString(text, to: &bytes)
    case .array(let values):
      bytes.append(UInt8(ascii: "["))
      for (index, value) in values.enumerated() {
        if index > 0 { bytes.append(UInt8(ascii: ",")) }
        value.append(to: &bytes)
      }
      bytes.append(UInt8(ascii: "]"))
    case .object(let members):
      bytes.append(UInt8(ascii: "{"))
      for (index, member) in members.enumerated() {
        if index > 0 { bytes.append(UInt8(ascii: ",")) }
        SafeText.appendJSONString(member.name, to: &bytes)
        bytes.append(UInt8(ascii: ":"))
        member.value.append(to: &bytes)
      }
      bytes.append(UInt8(ascii: "}"))
    }
  }
}
