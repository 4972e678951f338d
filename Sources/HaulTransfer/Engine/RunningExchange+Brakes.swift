extension RunningExchange {
  /// The measurements of the exchange so far.
  var metrics: RequestMetrics {
    var metrics = RequestMetrics(url: order.request.url)
    metrics.isReusedConnection = connectedTo != nil && openedSockets.isEmpty
    easy.measure(&metrics)
    metrics.remoteAddress = connectedTo.flatMap { IPAddress($0) }
    if file == nil { metrics.status = parsed?.head.status }
    metrics.received = bytes
    return metrics
  }

  /// What happened to a piece of the body.
  enum Receipt {
    case taken
    /// Haul did not take this piece of the body. libcurl passes it again later.
    case pause
    case end
  }

  /// The reasons why the exchange is paused.
  struct Brakes: OptionSet {
    var rawValue: UInt8
    static let owner = Brakes(rawValue: 1)
    static let sink = Brakes(rawValue: 2)
    /// No buffer was free.
    static let pool = Brakes(rawValue: 4)
    /// A rate limit is reached.
    static let rate = Brakes(rawValue: 8)
  }
}
