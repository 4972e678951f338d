extension DigestAlgorithm {
  /// Returns the SHA-256 of a text's UTF-8 as 64 lower-case hexadecimal digits.
  package static func sha256(of text: String) -> String {
    // No text can cause an error here. Only a libcrypto without SHA-256 could, and it could not make TLS connections either.
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
