extension IPAddress {
  /// The address that a URL's host spells out, with a port or without; `localhost` stands for 127.0.0.1. nil for any other name:
  /// names are not looked up.
  package static func spelled(by host: String) -> IPAddress? {
    let name =
      host.first == "["
      ? host.dropFirst().prefix { $0 != "]" } : host.prefix { $0 != ":" }
    if name == "localhost" { return IPAddress("127.0.0.1") }
    // Few hosts begin so; the others need no second look.
    guard host.first == "[" || host.first?.isWholeNumber == true else { return nil }
    return IPAddress(String(name))
  }
}
