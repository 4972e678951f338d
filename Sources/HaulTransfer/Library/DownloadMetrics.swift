/// What a download has taken, over all its attempts.
public struct DownloadMetrics: Sendable, Hashable {
  /// The number of attempts that have begun.
  public var attempts: Int
  /// The time in which the download ran. The times in which it waited or was paused do not count. (Clock: `ContinuousClock`)
  public var activeTime: Duration
  /// Bytes received over the network, also those that were received twice.
  public var received: Int64
  /// The requests that have ended, redirects among them, in their order: the last 100.
  public var requests: [RequestMetrics]

  /// Metrics made of their parts.
  public init(
    attempts: Int = 0, activeTime: Duration = .zero, received: Int64 = 0,
    requests: [RequestMetrics] = []
  ) {
    self.attempts = attempts
    self.activeTime = activeTime
    self.received = received
    self.requests = requests
  }

  /// The mean rate in bytes a second; 0 before any time has passed.
  public var averageRate: Double {
    activeTime > .zero ? Double(received) / (activeTime / .seconds(1)) : 0
  }
}

extension Download {
  /// Counts what the attempts take. Pure: time is passed in.
  struct Spent: Sendable {
    private var total = DownloadMetrics()
    /// Since when the attempt under way runs; nil where none does.
    private var since: ContinuousClock.Instant?
    /// Bytes of the attempts before this one.
    private var before: Int64 = 0

    mutating func begin(now: ContinuousClock.Instant) {
      total.attempts += 1
      since = now
      before = total.received
    }

    /// Records the number of bytes that the attempt has received.
    mutating func fetched(_ bytes: Int64) { total.received = before + bytes }

    /// Adds a request. A download may take any number of them.
    mutating func add(_ request: RequestMetrics) {
      if total.requests.count >= 100 { total.requests.removeFirst() }
      total.requests.append(request)
    }

    mutating func end(now: ContinuousClock.Instant) {
      total.activeTime += since.map { now - $0 } ?? .zero
      since = nil
    }

    /// Those of now, where the attempt under way has received `fetched` bytes.
    func metrics(fetched: Int64, now: ContinuousClock.Instant) -> DownloadMetrics {
      guard let since else { return total }
      var metrics = total
      metrics.activeTime += now - since
      metrics.received = max(total.received, before + fetched)
      return metrics
    }
  }
}
