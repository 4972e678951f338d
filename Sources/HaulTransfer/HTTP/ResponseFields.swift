/// What the header fields of an answer mean, one reading for each.
extension ResponseHead {
  /// Type and subtype in lower case, without parameters (RFC 9110 §8.3.1); nil where the field is
  /// absent, repeated or no media type.
  var mediaType: String? {
    guard let text = value("Content-Type") else { return nil }
    var scanner = TextScanner(text)
    let type = scanner.takeWhile(\.isTokenCharacter)
    guard !type.isEmpty, scanner.take("/") else { return nil }
    let subtype = scanner.takeWhile(\.isTokenCharacter)
    _ = scanner.takeWhile(\.isBlank)
    guard !subtype.isEmpty, scanner.atEnd || scanner.take(";") else { return nil }
    return "\(type)/\(subtype)".lowercased()
  }

  /// Whether it is a 401 that a user and password can answer by Digest (RFC 7616 §3.3).
  var asksForDigest: Bool {
    status == 401
      && values("WWW-Authenticate").contains { ", \($0.lowercased())".contains(", digest ") }
  }

  /// The content codings in lower case, in the order applied, joined by commas; nil where there is
  /// none but `identity` (RFC 9110 §8.4).
  var contentEncoding: String? {
    let codings = listMembers("Content-Encoding").map { $0.lowercased() }
      .filter { $0 != "identity" }
    return codings.isEmpty ? nil : codings.joined(separator: ",")
  }

  /// What an answer says about the length of its body.
  enum BodyLength: Equatable {
    /// No Content-Length, or a Transfer-Encoding other than `identity` and `none`, which overrides it (RFC 9112 §6.3).
    case unknown
    /// In bytes. The same number written more than once is one number (RFC 9110 §8.6).
    case bytes(Int64)
    /// Not a number, or numbers that differ.
    case malformed
  }

  /// The length of the body to come.
  var bodyLength: BodyLength {
    let isCoded = listMembers("Transfer-Encoding").contains {
      !["identity", "none"].contains($0.lowercased())
    }
    guard !isCoded, !values("Content-Length").isEmpty else { return .unknown }
    let numbers = values("Content-Length").flatMap {
      $0.split(separator: ",", omittingEmptySubsequences: false)
    }
    .map { text -> Int64? in
      var scanner = TextScanner(String(text))
      _ = scanner.takeWhile(\.isBlank)
      let number = scanner.integer()
      _ = scanner.takeWhile(\.isBlank)
      return scanner.atEnd ? number : nil
    }
    guard let first = numbers[0], numbers.allSatisfy({ $0 == first }) else { return .malformed }
    return .bytes(first)
  }

  /// How long the server asks to wait (RFC 9110 §10.2.3), never more than a year; nil where the
  /// field is absent, repeated or unreadable.
  ///
  /// A date counts from the answer's own Date, so that a wrong clock here or there does not matter,
  /// and from `now` only where there is none.
  func retryAfter(now: HTTPDate) -> Duration? {
    guard let text = value("Retry-After") else { return nil }
    let year: Int64 = 365 * 86_400
    if text.utf8.allSatisfy(\.isDigit), !text.isEmpty {
      return .seconds(min(Int64(text) ?? year, year))
    }
    guard let until = HTTPDate(text, now: now) else { return nil }
    let from = value("Date").flatMap { HTTPDate($0, now: now) } ?? now
    return .seconds(min(max(until.seconds - from.seconds, 0), year))
  }

  /// When the representation was last changed (RFC 9110 §8.8.2); nil where the field is absent, repeated or unreadable, or
  /// tells a time before 1970 or after `now`.
  func modified(now: HTTPDate) -> HTTPDate? {
    guard let date = value("Last-Modified").flatMap({ HTTPDate($0, now: now) }),
      date.seconds >= 0, date <= now
    else { return nil }
    return date
  }

  /// The members of a comma-separated field, all of its lines joined (RFC 9110 §5.6.1).
  func listMembers(_ name: String) -> [String] {
    values(name).flatMap { $0.split(separator: ",") }.compactMap { member in
      var scanner = TextScanner(String(member))
      _ = scanner.takeWhile(\.isBlank)
      let text = scanner.takeWhile { !$0.isBlank }
      return text.isEmpty ? nil : text
    }
  }
}
