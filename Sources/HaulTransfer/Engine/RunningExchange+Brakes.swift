extension RunningExchange {
  /// What it has taken so far.
  var metrics: RequestMetrics {
    var metrics = RequestMetrics(url: order.request.url)
    metrics.isReusedConnection = connectedTo != nil && openedSockets.isEmpty
    easy.measure(&metrics)
    metrics.remoteAddress = connectedTo.flatMap { IPAddress($0) }
    if file == nil { metrics.status = parsed?.head.status }
    metrics.received = bytes
    return metrics
  }

  /// What becomes of a piece of body.
  enum Receipt {
    case taken
    /// Not taken; it will be shown again.
    case pause
    case end
  }

  /// The reasons that hold the exchange back.
  struct Brakes: OptionSet {
    var rawValue: UInt8
    static let owner = Brakes(rawValue: 1)
    static let sink = Brakes(rawValue: 2)
    /// No buffer was to be had.
    static let pool = Brakes(rawValue: 4)
    /// A rate is used up.
    static let rate = Brakes(rawValue: 8)
  }
}
