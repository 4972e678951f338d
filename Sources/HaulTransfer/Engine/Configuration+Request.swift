import HaulSystem

extension Engine.Configuration {
  /// With the limits that a request has of its own, none longer than ``Duration/longest``, and the proxy that it takes.
  func overridden(by request: ExchangeRequest) -> Self {
    var limits = self
    if let time = request.connectTimeout { limits.connectTimeout = time }
    if let time = request.stallTimeout { (limits.responseTimeout, limits.stallTime) = (time, time) }
    // libcurl takes 0 for its own limit, and nothing below.
    limits.connectTimeout = max(.milliseconds(1), limits.connectTimeout.clamped)
    limits.responseTimeout = limits.responseTimeout.clamped
    limits.stallTime = limits.stallTime.clamped
    if let proxy = request.proxy {
      limits.proxy = proxy
    } else if proxy == nil, let proxyRules,
      let url = try? WebURL(request.url, schemes: allowedSchemes)
    {
      limits.proxy = proxyRules.proxy(for: url)
    }
    return limits
  }
}
