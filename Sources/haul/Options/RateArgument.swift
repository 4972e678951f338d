import Arguments
import HaulTransfer

/// Bytes a second.
struct RateArgument: OptionValue {
  static let expected = "bytes a second, at least 1, such as 10MB or 512KiB"

  let rate: ByteCount

  init?(argument: String) {
    guard let rate = ByteCount(argument: argument), rate.bytes > 0 else { return nil }
    self.rate = rate
  }

  var argument: String { rate.argument }

  /// A new limit of that rate.
  var limit: RateLimit { RateLimit(bytesPerSecond: rate.bytes) }
}
