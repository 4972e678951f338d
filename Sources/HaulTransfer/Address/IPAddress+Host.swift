extension IPAddress {
  /// Returns the IP address if `host` of a URL is an IP address, with or without a port, or `localhost` (127.0.0.1). Returns
  /// nil for any other name: this function does not use DNS.
  package static func spelled(by host: String) -> IPAddress? {
    let name =
      host.first == "["
      ? host.dropFirst().prefix { $0 != "]" } : host.prefix { $0 != ":" }
    if name == "localhost" { return IPAddress("127.0.0.1") }
    // Few hosts begin like an address. The others are not parsed.
    guard host.first == "[" || host.first?.isWholeNumber == true else { return nil }
    return IPAddress(String(name))
  }
}
