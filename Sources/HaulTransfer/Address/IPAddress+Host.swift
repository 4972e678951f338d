extension IPAddress {
  /// Returns the address that a URL's host spells out, with or without a port. `localhost` is 127.0.0.1. nil for any
  /// other name: names are not looked up.
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
