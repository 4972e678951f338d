/// The value of a field in a log line.
package enum LogValue: Sendable, Equatable {
  case int(Int64)
  case double(Double)
  /// A text of any kind, even hostile: its control characters are escaped when the line is written.
  case string(String)
  case bool(Bool)

  /// Creates a number from any integer type. A value outside `Int64` becomes the nearest value of `Int64`.
  package init(_ value: some BinaryInteger) { self = .int(Int64(clamping: value)) }

  /// Creates a text.
  package init(_ value: String) { self = .string(value) }

  /// Creates a number from a duration: seconds, rounded to milliseconds.
  package init(_ value: Duration) {
    self = .double((value / .milliseconds(1)).rounded() / 1000)
  }
}

extension LogValue: ExpressibleByIntegerLiteral, ExpressibleByFloatLiteral,
  ExpressibleByStringInterpolation, ExpressibleByBooleanLiteral
{
  package init(integerLiteral value: Int64) { self = .int(value) }
  package init(floatLiteral value: Double) { self = .double(value) }
  package init(stringLiteral value: String) { self = .string(value) }
  package init(booleanLiteral value: Bool) { self = .bool(value) }
}
