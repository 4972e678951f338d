internal import HaulTransfer

/// Finds URLs in texts.
enum ListURL {
  /// Returns whether a text is exactly one URL with a scheme that Haul knows.
  static func isOne(_ text: String) -> Bool {
    beginning(text[...]) && !text.contains(where: isBlank)
      && (try? WebURL(text, schemes: WebURL.knownSchemes)) != nil
  }

  /// Returns the URL of a line that should contain only a URL. Removes a comment after the URL.
  ///
  /// Text that is not a URL is returned unchanged. The code that parses URLs rejects it.
  static func alone(in line: Substring) throws(ListFault) -> Substring {
    guard beginning(line) else {
      if isNamed(line) { throw .nameAhead }
      if !all(in: line).isEmpty { throw .holdsMore }
      if isDigest(line.prefix { !isBlank($0) }) || isTagged(line) { throw .listOfDigests }
      if line.first == "<" { throw .markup }
      return line
    }
    guard let blank = line.firstIndex(where: isBlank) else {
      if let last = line.last, last == "," || last == ";" { throw .separatorBehind }
      return line
    }
    let rest = line[blank...].drop(while: isBlank)
    if rest.first == "#" { return line[..<blank] }
    if rest.contains("://") { throw .holdsMore }
    // If the name before the space has a file extension, the URL ends there, and the text after it is an error. Otherwise the
    // space may belong to the URL.
    let name = line[..<blank].split(separator: "/", omittingEmptySubsequences: false).last ?? ""
    if line[..<blank].count(where: { $0 == "/" }) > 2, name.contains("."), !name.contains("?") {
      throw .spaceBehind
    }
    return line
  }

  /// Returns whether a line is a file's name, blanks and a URL.
  private static func isNamed(_ line: Substring) -> Bool {
    let words = line.split(whereSeparator: isBlank)
    return words.count == 2 && isOne(String(words[1]))
      && words[0].split(separator: ".").dropFirst().last?.contains(where: \.isLetter) == true
      && words[0].allSatisfy { $0.isLetter || $0.isNumber || "._-/".contains($0) }
  }

  private static func isBlank(_ character: Character) -> Bool {
    character == " " || character == "\t"
  }

  private static func isDigest(_ word: Substring) -> Bool {
    [32, 40, 56, 64, 96, 128].contains(word.utf8.count) && word.allSatisfy(\.isHexDigit)
  }

  /// Returns whether a line is `SHA256 (name) = …`, as BSD tools write digests.
  private static func isTagged(_ line: Substring) -> Bool {
    line.last == ")"
      ? false : line.split(separator: " ").last.map(isDigest) == true && line.contains(") = ")
  }

  private static let beginnings: [[UInt8]] = WebURL.knownSchemes.sorted().map {
    Array("\($0)://".utf8)
  }

  /// Returns whether a text begins like a URL.
  static func beginning(_ text: Substring) -> Bool {
    let start = text.utf8.prefix(8).map { $0 | 0x20 }
    return beginnings.contains { start.starts(with: $0.map { $0 | 0x20 }) }
  }

  /// Returns every URL in a text of any kind, such as Markdown, HTML, a command or a sentence.
  static func all(in text: Substring) -> [String] {
    guard text.utf8.contains(UInt8(ascii: ":")) else { return [] }
    // Scripts write a backslash before a slash.
    if text.contains(#":\/\/"#) { return all(in: text.replacing(#"\/"#, with: "/")[...]) }
    var (urls, rest) = ([String](), text)
    while let mark = rest.firstRange(of: "://") {
      let before = rest[..<mark.lowerBound]
      let scheme = String(before.suffix(while: { $0.isASCII && $0.isLetter }))
      guard WebURL.knownSchemes.contains(scheme.lowercased()) else {
        rest = rest[mark.upperBound...]
        continue
      }
      let start = rest.index(mark.lowerBound, offsetBy: -scheme.count)
      let opening = start > text.startIndex ? text[text.index(before: start)] : " "
      let end = rest[mark.upperBound...].firstIndex { ends($0, after: opening) } ?? rest.endIndex
      let url = trimmed(rest[start..<end])
      if isOne(url) { urls.append(url) }
      rest = rest[end...]
    }
    return urls
  }

  /// Returns whether `character` ends a URL that follows the character `opening`.
  private static func ends(_ character: Character, after opening: Character) -> Bool {
    character.isWhitespace || "<>\"`".contains(character) || opening == "'" && character == "'"
      || opening == "|" && character == "|"
  }

  /// Returns the URL without the punctuation of the surrounding sentence, and with `&` instead of HTML's `&amp;`.
  private static func trimmed(_ text: Substring) -> String {
    var text = text
    // The address of a Markdown link ends at its closing bracket.
    var depth = 0
    for index in text.indices {
      if text[index] == "(" { depth += 1 }
      if text[index] == ")" { depth -= 1 }
      if depth < 0 {
        text = text[..<index]
        break
      }
    }
    while let last = text.last, ".,;:!?'*_]}\\".contains(last) {
      if last == "]" || last == "}", text.contains(last == "]" ? "[" : "{") { break }
      text = text.dropLast()
    }
    return text.replacing("&amp;", with: "&").description
  }
}

extension StringProtocol {
  fileprivate func suffix(while holds: (Character) -> Bool) -> SubSequence {
    var start = endIndex
    while start > startIndex, holds(self[index(before: start)]) { start = index(before: start) }
    return self[start...]
  }
}

extension ListFault {
  fileprivate static let holdsMore = ListFault(
    "the entry contains more than a URL. Use --extract to extract every URL")
  fileprivate static let nameAhead = ListFault(
    "the entry has a name before the URL. Use --url-column 2 --name-column 1 to read this list")
  fileprivate static let spaceBehind = ListFault(
    "the entry has a space after the URL. Use --url-column 1 --name-column 2 if a file name follows. Write %20 for a space in the URL"
  )
  fileprivate static let separatorBehind = ListFault(
    "the entry has a comma or semicolon after the URL. Use --extract to ignore this character. Write %2C or %3B if the character belongs to the URL"
  )
  fileprivate static let listOfDigests = ListFault(
    #"the line is from a digest list such as SHA256SUMS, which has a file name but no URL. Use lines such as {"url": "https://example.org/name", "digest": "sha-256=…"}"#
  )
  fileprivate static let markup = ListFault(
    "the line is HTML or XML. Use --extract to extract every URL")
}
