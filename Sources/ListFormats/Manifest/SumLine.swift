import HaulTransfer

/// A line of a file of checksums, as `sha256sum` and similar programs write it.
struct SumLine: Equatable {
  let digest: ExpectedDigest
  let path: String

  /// Returns a line of GNU's form with its line ending. `digest` is in hexadecimal.
  ///
  /// If the path has a backslash or a line ending, these characters are escaped, and the line begins with a backslash (GNU
  /// Coreutils manual, "md5sum invocation"). `sha256sum -c` takes the path `-` as standard input, so `./` precedes it.
  static func text(digest: String, path: String) -> String {
    let escapes: [UInt8: String] = [
      UInt8(ascii: "\\"): "\\\\", UInt8(ascii: "\n"): "\\n", UInt8(ascii: "\r"): "\\r",
    ]
    let name = path == "-" ? "./-" : path
    guard name.utf8.contains(where: { escapes[$0] != nil }) else {
      return "\(digest)  \(name)\n"
    }
    let escaped = name.utf8.flatMap { escapes[$0].map { Array($0.utf8) } ?? [$0] }
    return "\\\(digest)  \(String(decoding: escaped, as: UTF8.self))\n"
  }

  /// Reads a line of GNU's form, or of BSD's form such as `SHA256 (a.iso) = HEX`.
  init(_ text: String) throws(ListFault) {
    var bytes = Array(text.utf8)[...]
    let isEscaped = bytes.first == UInt8(ascii: "\\")
    if isEscaped { bytes = bytes.dropFirst() }
    guard let (digest, name) = Self.gnu(bytes) ?? Self.bsd(bytes), !name.isEmpty else {
      throw ListFault(
        "the line is not a checksum, two spaces and a path, as sha256sum writes them")
    }
    self.digest = digest
    path = String(decoding: isEscaped ? try Self.unescaped(name) : Array(name), as: UTF8.self)
  }

  /// Returns whether the text is a valid line.
  static func isOne(_ text: String) -> Bool { (try? SumLine(text)) != nil }

  private static func gnu(_ line: ArraySlice<UInt8>) -> (ExpectedDigest, ArraySlice<UInt8>)? {
    let digits = line.prefix(while: isHexadecimal)
    let rest = line[digits.endIndex...]
    guard rest.starts(with: "  ".utf8) || rest.starts(with: " *".utf8),
      let algorithm = DigestAlgorithm(hexadecimalLength: digits.count),
      let digest = digest(algorithm, digits)
    else { return nil }
    return (digest, rest.dropFirst(2))
  }

  private static func bsd(_ line: ArraySlice<UInt8>) -> (ExpectedDigest, ArraySlice<UInt8>)? {
    let digits = line.reversed().prefix(while: isHexadecimal)
    let front = line.dropLast(digits.count)
    let end = Array(") = ".utf8)
    guard let open = front.firstIndex(of: UInt8(ascii: "(")), open > front.startIndex,
      front.suffix(end.count).elementsEqual(end), front.count - open >= end.count,
      front[open - 1] == UInt8(ascii: " "),
      let algorithm = DigestAlgorithm(
        spelled: String(decoding: front[front.startIndex..<open - 1], as: UTF8.self)),
      let digest = digest(algorithm, line.suffix(digits.count))
    else { return nil }
    return (digest, front.dropLast(end.count)[(open + 1)...])
  }

  private static func digest(
    _ algorithm: DigestAlgorithm, _ digits: ArraySlice<UInt8>
  ) -> ExpectedDigest? {
    guard digits.count == algorithm.byteCount * 2 else { return nil }
    return ExpectedDigest(
      spelled: "\(algorithm.rawValue)=\(String(decoding: digits, as: UTF8.self))")
  }

  private static func isHexadecimal(_ byte: UInt8) -> Bool {
    byte < 0x80 && Character(Unicode.Scalar(byte)).isHexDigit
  }

  private static func unescaped(_ name: ArraySlice<UInt8>) throws(ListFault) -> [UInt8] {
    var result: [UInt8] = []
    var rest = name
    while let byte = rest.popFirst() {
      guard byte == UInt8(ascii: "\\") else {
        result.append(byte)
        continue
      }
      switch rest.popFirst() {
      case UInt8(ascii: "\\"): result.append(UInt8(ascii: "\\"))
      case UInt8(ascii: "n"): result.append(UInt8(ascii: "\n"))
      case UInt8(ascii: "r"): result.append(UInt8(ascii: "\r"))
      default: throw ListFault("a backslash of the path is not followed by \\, n or r")
      }
    }
    return result
  }
}
