extension Engine.Configuration {
  /// With the limits that a request has of its own.
  func overridden(by request: ExchangeRequest) -> Self {
    var limits = self
    if let time = request.connectTimeout { limits.connectTimeout = time }
    if let time = request.stallTimeout { (limits.responseTimeout, limits.stallTime) = (time, time) }
    return limits
  }
}
