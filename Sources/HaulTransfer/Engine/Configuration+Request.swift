import HaulSystem

extension Engine.Configuration {
  /// Returns this configuration with the request's own time-outs, none longer than ``Duration/longest``, and the proxy for this
  /// request.
  func overridden(by request: ExchangeRequest) -> Self {
    var limits = self
    if let time = request.connectTimeout { limits.connectTimeout = time }
    if let time = request.stallTimeout { (limits.responseTimeout, limits.stallTime) = (time, time) }
    // For libcurl, 0 means its own default, and it accepts no negative value.
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
