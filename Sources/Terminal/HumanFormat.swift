import HaulSystem

/// Formats amounts for people. Output for programs has plain numbers of bytes and seconds instead.
package enum HumanFormat {
  private static let units = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"]

  /// Returns a number of bytes as text: `512 B`, `1.5 GiB`, `120 MiB`. Units are powers of 1024. Amounts below 100 are rounded
  /// to one decimal place.
  package static func bytes(_ bytes: Int64) -> String {
    if bytes.magnitude < 1024 { return "\(bytes) B" }
    var value = Double(bytes) / 1024
    var unit = 0
    // From 1023.5 on, rounding would show 1024.
    while abs(value) >= 1023.5 && unit < units.count - 1 {
      value /= 1024
      unit += 1
    }
    return "\(short(value)) \(units[unit])"
  }

  /// Returns the received bytes and the total in one unit: `0.3/4.0 GiB`. If `total` is nil or 0, returns only the received
  /// bytes.
  package static func bytes(_ bytes: Int64, of total: Int64?) -> String {
    guard let total, total > 0 else { return Self.bytes(bytes) }
    let largest = Self.bytes(max(bytes, total))
    guard let unit = units.firstIndex(where: largest.hasSuffix) else {
      return "\(bytes)/\(total) B"
    }
    let size = Double(sign: .plus, exponent: 10 * (unit + 1), significand: 1)
    return "\(short(Double(bytes) / size))/\(short(Double(total) / size)) \(units[unit])"
  }

  /// Returns a rate in bytes per second as text: `12.3 MiB/s`.
  package static func rate(_ rate: Int64) -> String { bytes(rate) + "/s" }

  /// Returns a remaining time as text, rounded up to whole seconds: `3m04s`. Returns nil for 100 days or more, because such an
  /// estimate is useless.
  package static func timeLeft(_ time: Duration) -> String? {
    let (seconds, rest) = time.components
    if seconds >= 100 * 86_400 { return nil }
    return duration(.seconds(seconds + (rest > 0 ? 1 : 0)))
  }

  /// Returns a duration as text with its two largest units, rounded down: `850ms`, `12s`, `3m04s`, `2h05m`, `5d03h`. A negative
  /// duration gives `0s`.
  package static func duration(_ duration: Duration) -> String {
    let seconds = max(duration.components.seconds, 0)
    switch seconds {
    case 0 where duration >= .milliseconds(1):
      return "\(duration.components.attoseconds / 1_000_000_000_000_000)ms"
    case ..<60: return "\(seconds)s"
    case ..<3600: return "\(seconds / 60)m\(padded(seconds % 60))s"
    case ..<86_400: return "\(seconds / 3600)h\(padded(seconds / 60 % 60))m"
    default: return "\(seconds / 86_400)d\(padded(seconds / 3600 % 24))h"
    }
  }

  /// Returns an age as text with one unit, rounded down: `12s`, `3m`, `2h`, `5d`.
  package static func age(_ age: Duration) -> String {
    let seconds = max(age.components.seconds, 0)
    switch seconds {
    case ..<60: return "\(seconds)s"
    case ..<3600: return "\(seconds / 60)m"
    case ..<86_400: return "\(seconds / 3600)h"
    default: return "\(seconds / 86_400)d"
    }
  }

  /// Returns an RFC 3339 time in UTC in the form `2026-11-21 15:30:12`. Other text, such as `infinity`, is returned unchanged.
  package static func time(_ text: String) -> String {
    guard text.hasSuffix("+00:00") || text.hasSuffix("Z"), text.utf8.count > 19 else { return text }
    return String(text.prefix(19)).replacing("T", with: " ")
  }

  private static func short(_ value: Double) -> String {
    let tenths = Int64(clamped: (value * 10).rounded())
    if tenths.magnitude >= 1000 { return String(Int64(value.rounded())) }
    let sign = tenths < 0 ? "-" : ""
    return "\(sign)\(tenths.magnitude / 10).\(tenths.magnitude % 10)"
  }

  private static func padded(_ number: Int64) -> String {
    number < 10 ? "0\(number)" : String(number)
  }
}
