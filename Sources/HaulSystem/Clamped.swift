// Numbers with a fraction are limited before they become whole numbers or durations, which otherwise trap.

extension Duration {
  /// Longer than anything waits: a hundred years.
  package static let longest = Duration.seconds(100 * 365 * 86_400)

  /// This many seconds, at most ``longest`` either way; zero if it is not a number.
  package static func clamped(seconds: Double) -> Duration {
    guard seconds == seconds else { return .zero }
    let limit = longest / .seconds(1)
    return .seconds(min(max(seconds, -limit), limit))
  }

  /// This duration, at most ``longest`` either way.
  package var clamped: Duration { min(max(self, .zero - Self.longest), Self.longest) }
}

extension FixedWidthInteger {
  /// `value` without its fraction, the nearest there is; zero for what is no number.
  @inlinable package init(clamped value: Double) {
    guard value == value else {
      self = 0
      return
    }
    self = Self(exactly: value.rounded(.towardZero)) ?? (value < 0 ? .min : .max)
  }
}
