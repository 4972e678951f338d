import Arguments
import HaulTransfer

/// A rate in bytes per second.
struct RateArgument: OptionValue {
  static let expected = "a rate of at least 1 byte per second, such as 10M or 512K"

  let rate: ByteCount

  init?(argument: String) {
    let size = argument.lowercased().hasSuffix("/s") ? String(argument.dropLast(2)) : argument
    guard let rate = ByteCount(argument: size), rate.bytes > 0 else { return nil }
    self.rate = rate
  }

  var argument: String { rate.argument }

  /// A new limit with this rate.
  var limit: RateLimit { RateLimit(bytesPerSecond: rate.bytes) }
}
