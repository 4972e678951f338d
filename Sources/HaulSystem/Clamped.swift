// These functions limit numbers with a fraction before they convert them, because Swift traps on numbers out of range.

extension Duration {
  /// The longest duration for waits: 100 years.
  package static let longest = Duration.seconds(100 * 365 * 86_400)

  /// Creates a duration from `seconds`, limited to ``longest`` in both directions. NaN becomes zero.
  package static func clamped(seconds: Double) -> Duration {
    guard seconds == seconds else { return .zero }
    let limit = longest / .seconds(1)
    return .seconds(min(max(seconds, -limit), limit))
  }

  /// The duration, limited to ``longest`` in both directions.
  package var clamped: Duration { min(max(self, .zero - Self.longest), Self.longest) }
}

extension FixedWidthInteger {
  /// Creates an integer from `value` without its fraction, limited to the range of the type. NaN becomes zero.
  @inlinable package init(clamped value: Double) {
    guard value == value else {
      self = 0
      return
    }
    self = Self(exactly: value.rounded(.towardZero)) ?? (value < 0 ? .min : .max)
  }
}
