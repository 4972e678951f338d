extension IPAddress {
  /// Returns the IP address in `host`, the host of a URL with or without a port. Returns 127.0.0.1 for `localhost`, and nil for
  /// any other name: this function does not use DNS.
  package static func spelled(by host: String) -> IPAddress? {
    let name =
      host.first == "["
      ? host.dropFirst().prefix { $0 != "]" } : host.prefix { $0 != ":" }
    if name == "localhost" { return IPAddress("127.0.0.1") }
    // Few hosts begin like an address. Do not parse the others.
    guard host.first == "[" || host.first?.isWholeNumber == true else { return nil }
    return IPAddress(String(name))
  }
}
