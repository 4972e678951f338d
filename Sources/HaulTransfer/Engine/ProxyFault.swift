internal import HaulCLibcurl

/// How far an exchange got with its proxy.
struct ProxyProgress {
  /// Whether the connection to the proxy was made.
  var isConnected: Bool
  /// The status with which the proxy answered CONNECT, or nil if it did not answer.
  var connectStatus: Int?
  /// The error of a SOCKS proxy, or CURLPX_OK for none.
  var code: CURLproxycode
}

extension EasyHandle {
  /// How far the exchange got with its proxy. Read this after the exchange has ended.
  ///
  /// (libcurl: CURLINFO_CONNECT_TIME_T, CURLINFO_HTTP_CONNECTCODE, CURLINFO_PROXY_ERROR)
  var proxyProgress: ProxyProgress {
    var time: curl_off_t = 0
    _ = unsafe haul_easy_get_offset(raw, CURLINFO_CONNECT_TIME_T, &time)
    var status = 0
    _ = unsafe haul_easy_get_long(raw, CURLINFO_HTTP_CONNECTCODE, &status)
    var code = 0
    _ = unsafe haul_easy_get_long(raw, CURLINFO_PROXY_ERROR, &code)
    return ProxyProgress(
      isConnected: time > 0, connectStatus: status > 0 ? status : nil,
      code: CURLproxycode(UInt32(code)))
  }
}

extension CurlEnd {
  static let proxyWantsPassword = "the proxy needs a valid user and password (407)"

  /// The errors of a SOCKS proxy that are caused by the host behind it (RFC 1928 §6).
  private static let ofHost: [CURLproxycode] = [
    CURLPX_RESOLVE_HOST, CURLPX_REPLY_HOST_UNREACHABLE, CURLPX_REPLY_NETWORK_UNREACHABLE,
    CURLPX_REPLY_CONNECTION_REFUSED, CURLPX_REPLY_TTL_EXPIRED,
  ]

  /// Returns the failure of an exchange that got no response head, if the proxy caused it; otherwise nil.
  func fault(
    of proxy: ProxyAddress, _ progress: ProxyProgress
  ) -> (errorClass: TransferError.Class, message: String)? {
    // A TLS handshake before CONNECT is a handshake with the proxy.
    if proxy.url.hasPrefix("https:"), progress.connectStatus == nil, errorClass(.connecting) == .tls
    {
      return (.proxy, "the TLS connection to the proxy failed: \(message(.tls))")
    }
    switch (code, progress.connectStatus) {
    case (CURLE_COULDNT_RESOLVE_PROXY, _): return (.proxy, "cannot resolve the name of the proxy")
    case (_, 407?): return (.proxy, Self.proxyWantsPassword)
    // The proxy asked the host, which did not answer.
    case (_, let status?) where (500...599).contains(status):
      return (.connect, "the proxy cannot connect to the host (\(status))")
    case (_, let status?) where status >= 300:
      return (.proxy, "the proxy refused to connect to the host (\(status))")
    case (CURLE_PROXY, _):
      return Self.ofHost.contains(progress.code)
        ? (.connect, "the proxy cannot connect to the host: \(sentence)")
        : (.proxy, "the proxy refused the connection: \(sentence)")
    case (CURLE_COULDNT_CONNECT, _), (CURLE_OPERATION_TIMEDOUT, _):
      return progress.isConnected ? nil : (.proxy, "cannot connect to the proxy: \(sentence)")
    default: return nil
    }
  }
}

extension Engine.Configuration {
  /// Checks the URL's host if there is a proxy. Only addresses in the URL itself can then be checked, because the proxy
  /// resolves names.
  ///
  /// - Throws: `blocked_address` if the policy refuses the address; `blocked_url` for an incomplete IP address.
  func requireAllowedHost(of request: ExchangeRequest) throws(TransferError) {
    guard proxy != nil, let url = try? WebURL(request.url, schemes: allowedSchemes) else { return }
    let host = url.host.hasSuffix(".") ? String(url.host.dropLast()) : url.host
    // RFC 6761 §6.3.
    let isLocal = host == "localhost" || host.hasSuffix(".localhost")
    let text =
      isLocal
      ? "127.0.0.1" : host.filter { $0 != "[" && $0 != "]" }.prefix { $0 != "%" }.description
    if IPAddress(text) == nil, Self.endsInNumber(text) {
      throw TransferError(
        .blockedURL, "\(host) is not a valid host name or a complete IP address",
        host: url.hostKey)
    }
    guard let address = IPAddress(text), !(request.addressPolicy ?? addressPolicy).allows(address)
    else { return }
    throw TransferError(notPublic: [address], host: url.hostKey)
  }

  /// Whether a host is an address in any spelling, such as `127.1`, `0x7f.0.0.1` or `2130706433`. A proxy may take such a host
  /// for an address. (WHATWG URL, "ends in a number".)
  private static func endsInNumber(_ host: String) -> Bool {
    guard let last = host.lowercased().split(separator: ".").last else { return false }
    let hex = last.hasPrefix("0x") ? last.dropFirst(2) : nil
    return last.allSatisfy { ("0"..."9").contains($0) } || hex?.allSatisfy(\.isHexDigit) == true
  }
}
