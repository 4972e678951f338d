extension DigestAlgorithm {
  /// Returns the SHA-256 of a text's UTF-8 as 64 lower-case hexadecimal digits.
  package static func sha256(of text: String) -> String {
    // The input cannot cause this: a libcrypto without SHA-256 could make no TLS connection either.
    guard let context = try? DigestContext(.sha256) else {
      fatalError("libcrypto does not support SHA-256, which every build of it must support")
    }
    var text = text
    text.withUTF8 { unsafe context.update(UnsafeRawBufferPointer($0)) }
    return context.finish().map { byte in
      let digits = String(byte, radix: 16)
      return byte < 16 ? "0" + digits : digits
    }.joined()
  }
}
