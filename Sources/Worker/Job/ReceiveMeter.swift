import HaulSystem
import JobQueue

/// Measures the bytes per second that a worker receives for each queue and batch, between two heartbeats. Files that end
/// between the heartbeats count too.
struct ReceiveMeter: Sendable {
  /// A queue and a batch, whose transfers are measured together.
  struct Channel: Hashable, Sendable {
    let queue: String
    let batch: String?

    init(_ lease: Lease) { (queue, batch) = (lease.queue, lease.batch) }
    init(queue: String, batch: String?) { (self.queue, self.batch) = (queue, batch) }
  }

  private var bytes: [Channel: Int64] = [:]
  private var rates: [Channel: Int64] = [:]
  private var last: ContinuousClock.Instant?

  /// Adds bytes received since the last report.
  mutating func add(_ count: Int64, of channel: Channel) { bytes[channel, default: 0] += count }

  /// Returns the bytes per second, smoothed over about three reports. Channels that are not `running` and received no bytes are
  /// omitted.
  mutating func report(
    now: ContinuousClock.Instant, running: Set<Channel>
  ) -> [ReceivedRate] {
    defer { (bytes, last) = ([:], now) }
    guard let last else { return [] }
    let seconds = max((now - last) / .seconds(1), 0.001)
    rates = Dictionary(
      uniqueKeysWithValues: running.union(bytes.keys).map { channel in
        (channel, Self.rate(rates[channel], bytes[channel] ?? 0, seconds))
      }
    ).filter { $0.value > 0 }
    return rates.map { ReceivedRate(queue: $0.queue, batch: $0.batch, rate: $1) }
  }

  /// Returns the current bytes per second, smoothed with the previous rate `last`. `last` is nil or 0 if no bytes were received
  /// before.
  static func rate(_ last: Int64?, _ bytes: Int64, _ seconds: Double) -> Int64 {
    let present = Double(bytes) / seconds
    guard let last, last > 0 else { return Int64(present) }
    return Int64(clamped: 0.5 * present + 0.5 * Double(last))
  }
}
