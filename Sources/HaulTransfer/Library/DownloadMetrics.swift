/// The time, bytes and requests that a download has taken, over all its attempts.
public struct DownloadMetrics: Sendable, Hashable {
  /// The number of attempts that have begun.
  public var attempts: Int
  /// The time in which the download ran, without waits and pauses. (Clock: `ContinuousClock`)
  public var activeTime: Duration
  /// The number of bytes received over the network. Bytes that were received twice count twice.
  public var received: Int64
  /// The last 100 requests that have ended, oldest first, including redirects.
  public var requests: [RequestMetrics]

  /// Creates metrics.
  public init(
    attempts: Int = 0, activeTime: Duration = .zero, received: Int64 = 0,
    requests: [RequestMetrics] = []
  ) {
    self.attempts = attempts
    self.activeTime = activeTime
    self.received = received
    self.requests = requests
  }

  /// The mean rate in bytes per second; 0 before any time has passed.
  public var averageRate: Double {
    activeTime > .zero ? Double(received) / (activeTime / .seconds(1)) : 0
  }
}

extension Download {
  /// Counts the time, bytes and requests of the attempts. It reads no clock: callers pass the time.
  struct Spent: Sendable {
    private var total = DownloadMetrics()
    /// The start of the attempt in progress; nil if there is none.
    private var since: ContinuousClock.Instant?
    /// Bytes of the attempts before the current one.
    private var before: Int64 = 0

    mutating func begin(now: ContinuousClock.Instant) {
      total.attempts += 1
      since = now
      before = total.received
    }

    /// Records the number of bytes that the attempt has received.
    mutating func fetched(_ bytes: Int64) { total.received = before + bytes }

    /// Adds a request. If there are more than 100 requests, the oldest is dropped.
    mutating func add(_ request: RequestMetrics) {
      if total.requests.count >= 100 { total.requests.removeFirst() }
      total.requests.append(request)
    }

    mutating func end(now: ContinuousClock.Instant) {
      total.activeTime += since.map { now - $0 } ?? .zero
      since = nil
    }

    /// Returns the metrics for `now`. The attempt in progress has received `fetched` bytes.
    func metrics(fetched: Int64, now: ContinuousClock.Instant) -> DownloadMetrics {
      guard let since else { return total }
      var metrics = total
      metrics.activeTime += now - since
      metrics.received = max(total.received, before + fetched)
      return metrics
    }
  }
}
