/// PostgreSQL's text form of one-dimensional arrays (manual, "Array Input and Output Syntax").
enum ArrayLiteral {
  private static let quote = UInt8(ascii: "\"")
  private static let backslash = UInt8(ascii: "\\")

  /// Quotes every element, so that nothing in it is special; nil is NULL.
  static func text(_ elements: [String?]) -> String {
    var text: [UInt8] = [UInt8(ascii: "{")]
    for (index, element) in elements.enumerated() {
      if index > 0 { text.append(UInt8(ascii: ",")) }
      guard let element else {
        text.append(contentsOf: "NULL".utf8)
        continue
      }
      text.append(quote)
      for byte in element.utf8 {
        if byte == quote || byte == backslash { text.append(backslash) }
        text.append(byte)
      }
      text.append(quote)
    }
    text.append(UInt8(ascii: "}"))
    return String(decoding: text, as: UTF8.self)
  }

  /// Reads what the server writes. Returns nil for several dimensions, bounds other than 1, an
  /// element that is no `Element`, or a NULL where `Element` has none.
  static func elements<Element: PostgresDecodable>(
    _ text: ArraySlice<UInt8>, as: Element.Type
  ) -> [Element]? {
    guard text.first == UInt8(ascii: "{"), text.last == UInt8(ascii: "}"), text.count >= 2
    else { return nil }
    var rest = text.dropFirst().dropLast()
    var elements: [Element] = []
    if rest.isEmpty { return elements }
    while true {
      guard let element = next(&rest, as: Element.self) else { return nil }
      elements.append(element)
      guard let separator = rest.popFirst() else { return elements }
      guard separator == UInt8(ascii: ",") else { return nil }
    }
  }

  private static func next<Element: PostgresDecodable>(
    _ rest: inout ArraySlice<UInt8>, as: Element.Type
  ) -> Element? {
    if rest.first == quote {
      guard let bytes = quoted(&rest) else { return nil }
      return Element(postgresText: bytes[...])
    }
    let word = rest.prefix { $0 != UInt8(ascii: ",") }
    rest = rest[word.endIndex...]
    if word.isEmpty || word.first == UInt8(ascii: "{") { return nil }
    // Unquoted, in any case of letters, it is NULL; the server quotes a string of that spelling.
    if word.elementsEqual("NULL".utf8) { return Element.null }
    return Element(postgresText: word)
  }

  /// Takes a quoted element off the front, its backslashes resolved; nil if it does not end.
  private static func quoted(_ rest: inout ArraySlice<UInt8>) -> [UInt8]? {
    rest.removeFirst()
    var bytes: [UInt8] = []
    while let byte = rest.popFirst() {
      if byte == quote { return bytes }
      if byte == backslash {
        guard let escaped = rest.popFirst() else { return nil }
        bytes.append(escaped)
      } else {
        bytes.append(byte)
      }
    }
    return nil
  }
}
