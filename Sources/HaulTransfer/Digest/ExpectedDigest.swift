import FoundationEssentials
import HaulSystem

/// A checksum algorithm with a digest: the digest that a stored file must have, or that a server states.
public struct ExpectedDigest: Sendable, Hashable {
  /// The checksum algorithm.
  public var algorithm: DigestAlgorithm
  /// The digest itself, with ``DigestAlgorithm/byteCount`` bytes.
  public var bytes: [UInt8]

  /// Reads a digest: `algorithm=digest`, or only 32, 40, 64 or 128 hexadecimal digits (MD5, SHA-1, SHA-256 or SHA-512, by
  /// length). A file name may follow the digits, as in a line of `SHA256SUMS`; Haul ignores the name.
  ///
  /// The algorithm is spelled as in RFC 9530 or without its hyphen. Case does not matter. The digest is in hexadecimal, in
  /// base64, or in base64 between colons, as RFC 9530 writes it. Other accepted forms are `sha256:HEX`, `sha256-BASE64`
  /// (Subresource Integrity), and `SHA256 (name) = HEX`, as BSD's tools write it. White space around the text is ignored.
  ///
  /// - Throws: a ``TransferError`` of class `digest` for any other text. The message quotes the text.
  public init(_ text: String) throws(TransferError) {
    let text = Self.trimmed(text)
    let digits = text.prefix { $0.isASCII && $0.isHexDigit }
    let rest = text[digits.endIndex...]
    let isLine = rest.isEmpty || rest.hasPrefix("  ") || rest.hasPrefix(" *")
    if isLine, let algorithm = DigestAlgorithm(hexadecimalLength: digits.utf8.count),
      let digest = Self(spelled: "\(algorithm.rawValue)=\(digits)")
    {
      self = digest
      return
    }
    guard let digest = Self(spelled: text) ?? Self(spelled: Self.rewritten(text)) else {
      let shown = text.count <= 200 ? text : "\(text.prefix(200))…"
      throw TransferError(
        .digest,
        "'\(SafeText.visible(shown))' is not a digest: write it as sha-256=HEX, or as 32, 40, 64 or 128 hexadecimal digits"
      )
    }
    self = digest
  }

  private static func trimmed(_ text: String) -> String {
    var text = text[...].drop(while: \.isWhitespace)
    while text.last?.isWhitespace == true { text.removeLast() }
    return String(text)
  }

  /// Returns other spellings as `algorithm=digest`, and any other text unchanged.
  private static func rewritten(_ text: String) -> String {
    if let line = text.wholeMatch(of: #/([A-Za-z0-9-]+) ?\(.*\) ?= ?([0-9A-Fa-f]+)/#) {
      return "\(line.1)=\(line.2)"
    }
    for separator in [":", "-"] as [Character] {
      // An algorithm's name may have a hyphen of its own.
      let ends = text.indices.prefix(16).filter { text[$0] == separator }
      for end in ends where DigestAlgorithm(spelled: String(text[..<end])) != nil {
        return "\(text[..<end])=\(text[text.index(after: end)...])"
      }
    }
    return text
  }

  /// Reads a digest in the form `algorithm=digest` only. Options of jobs and header fields of servers have this form.
  ///
  /// - Returns: the digest; nil for an unknown algorithm or a digest of the wrong length. If the hexadecimal and the base64
  ///   form have the same length, a final `=` means base64.
  package init?(spelled text: String) {
    let halves = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
    guard halves.count == 2, let algorithm = DigestAlgorithm(spelled: String(halves[0])) else {
      return nil
    }
    var digest = halves[1]
    if digest.count > 2, digest.first == ":", digest.last == ":" {
      digest = digest.dropFirst().dropLast()
    }
    let bytes =
      digest.utf8.count == algorithm.byteCount * 2 && digest.last != "="
      ? Self.hexadecimal(digest) : Data(base64Encoded: String(digest)).map { Array($0) }
    guard let bytes, bytes.count == algorithm.byteCount else { return nil }
    self.algorithm = algorithm
    self.bytes = bytes
  }

  /// Creates an expected digest from an algorithm and a computed digest.
  package init(_ algorithm: DigestAlgorithm, bytes: [UInt8]) {
    precondition(bytes.count == algorithm.byteCount)
    self.algorithm = algorithm
    self.bytes = bytes
  }

  /// Returns whether this digest is stronger evidence than `other`. The order of ``DigestAlgorithm`` determines this.
  func provesMore(than other: ExpectedDigest) -> Bool {
    let order = DigestAlgorithm.allCases
    return order.firstIndex(of: algorithm) ?? 0 < order.firstIndex(of: other.algorithm) ?? 0
  }

  /// The digest alone, in lower-case hexadecimal.
  package var hexadecimal: String {
    let digits = Array("0123456789abcdef")
    return String(bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] })
  }

  private static func hexadecimal(_ text: Substring) -> [UInt8]? {
    let digits = text.utf8.map {
      UInt8(ascii: "0") <= $0 && $0 < 0x80 ? Character(Unicode.Scalar($0)).hexDigitValue : nil
    }
    var bytes: [UInt8] = []
    for index in stride(from: 0, to: digits.count, by: 2) {
      guard let high = digits[index], let low = digits[index + 1] else { return nil }
      bytes.append(UInt8(high * 16 + low))
    }
    return bytes
  }
}

extension ExpectedDigest: CustomStringConvertible {
  /// The digest as text: the algorithm, `=`, and lower-case hexadecimal digits.
  public var description: String { "\(algorithm.rawValue)=\(hexadecimal)" }
}
