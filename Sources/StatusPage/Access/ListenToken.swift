import HaulCLibcrypto

/// The secret that clients of the status page must send. The server also signs session cookies with it. Comparisons take
/// constant time, so that an attacker cannot learn the token from response times.
package struct ListenToken: Sendable {
  /// Lifetime of a session in seconds.
  static let sessionSeconds: Int64 = 12 * 3600
  /// The minimum number of characters in a token. A shorter token could be guessed. A token longer than `longest` does not fit
  /// into the form.
  private static let shortest = 16
  private static let longest = 4096

  private let bytes: [UInt8]

  /// Reads the token from the first line of `text`, without blanks around it. `text` is the content of the file `path`.
  /// - Throws: `ListenError.token` if the line has fewer than 16 characters, or characters that are not printable.
  package init(firstLineOf text: String, path: String) throws(ListenError) {
    guard let line = text.split(whereSeparator: \.isNewline).first,
      line.utf8.count <= Self.longest
    else { throw .token(path: path, "has no line, or its first line is longer than 4,096 bytes") }
    try self.init(line.filter { $0 != " " && $0 != "\t" }, path: path)
  }

  init(_ text: String, path: String = "") throws(ListenError) {
    guard text.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7f }) else {
      throw .token(path: path, "has a first line with characters that are not printable ASCII")
    }
    guard text.utf8.count >= Self.shortest else {
      throw .token(
        path: path,
        "has fewer than \(Self.shortest) characters in its first line; make a token with 'openssl rand -hex 32'"
      )
    }
    bytes = Array(text.utf8)
  }

  /// Returns whether `guess` is the token.
  func matches(_ guess: String) -> Bool { areEqual(sign("token \(guess)"), sign(secret)) }

  /// Returns the cookie of a session that begins at `now`, in seconds since 1970. The cookie contains the signed end time of
  /// the session.
  func session(now: Int64) -> String {
    let end = now + Self.sessionSeconds
    return "\(end).\(hex(sign("session \(end)")))"
  }

  /// Returns whether ``session(now:)`` made `value` and the session has not ended at `now`.
  func isSession(_ value: String, now: Int64) -> Bool {
    let parts = value.split(separator: ".", omittingEmptySubsequences: false)
    guard parts.count == 2, let end = Int64(parts[0]), "\(end)" == parts[0] else { return false }
    let isOurs = areEqual(Array(hex(sign("session \(end)")).utf8), Array(parts[1].utf8))
    return isOurs && end > now && end <= now + Self.sessionSeconds
  }

  private var secret: String { "token " + String(decoding: bytes, as: UTF8.self) }

  /// Returns the HMAC-SHA-256 of `text` with the token as its key (RFC 2104), so that all compared values have the same length.
  private func sign(_ text: String) -> [UInt8] {
    var digest = [UInt8](repeating: 0, count: 32)
    let message = Array(text.utf8)
    _ = unsafe HMAC(EVP_sha256(), bytes, Int32(bytes.count), message, message.count, &digest, nil)
    return digest
  }

  /// Compares two values in constant time (CRYPTO_memcmp(3)).
  private func areEqual(_ left: [UInt8], _ right: [UInt8]) -> Bool {
    unsafe left.count == right.count && CRYPTO_memcmp(left, right, left.count) == 0
  }

  private func hex(_ bytes: [UInt8]) -> String {
    bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
  }
}
