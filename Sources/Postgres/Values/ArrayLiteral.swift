/// PostgreSQL's text form of one-dimensional arrays (manual, "Array Input and Output Syntax").
enum ArrayLiteral {
  private static let quote = UInt8(ascii: "\"")
  private static let backslash = UInt8(ascii: "\\")

  /// Returns the array as text. Quotes every element, so that no character in it is special; nil becomes NULL.
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

  /// Returns the elements of an array that the server wrote. Returns nil for several dimensions, lower bounds other than 1, an
  /// element that is not a valid `Element`, or a NULL if `Element` has no null value.
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
    // An unquoted NULL in any letter case is NULL. The server quotes a string that is spelled like this.
    if word.elementsEqual("NULL".utf8) { return Element.null }
    return Element(postgresText: word)
  }

  /// Removes a quoted element from the front, and resolves its backslashes; nil if the closing quote is missing.
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
