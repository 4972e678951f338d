/// Parses the header fields of a response, in one place for all callers.
extension ResponseHead {
  /// The media type: type and subtype in lower case, without parameters (RFC 9110 §8.3.1); nil if the field is absent,
  /// repeated or not a media type.
  var mediaType: String? {
    guard let text = value("Content-Type") else { return nil }
    var scanner = TextScanner(text)
    let type = scanner.takeWhile(\.isTokenCharacter)
    guard !type.isEmpty, scanner.take("/") else { return nil }
    let subtype = scanner.takeWhile(\.isTokenCharacter)
    scanner.skipWhile(\.isBlank)
    guard !subtype.isEmpty, scanner.atEnd || scanner.take(";") else { return nil }
    return "\(type)/\(subtype)".lowercased()
  }

  /// Whether the response is a 401 that offers Digest authentication (RFC 7616 §3.3).
  var asksForDigest: Bool {
    status == 401
      && values("WWW-Authenticate").contains { ", \($0.lowercased())".contains(", digest ") }
  }

  /// The content codings in lower case, in the order applied, joined by commas; nil if there is no coding besides
  /// `identity` (RFC 9110 §8.4).
  var contentEncoding: String? {
    let codings = listMembers("Content-Encoding").map { $0.lowercased() }
      .filter { $0 != "identity" }
    return codings.isEmpty ? nil : codings.joined(separator: ",")
  }

  /// The length of a body, as a response states it.
  enum BodyLength: Equatable {
    /// The length is unknown. The head has no Content-Length, or it has a Transfer-Encoding other than `identity` and `none`,
    /// which overrides Content-Length (RFC 9112 §6.3).
    case unknown
    /// The length in bytes. If Content-Length repeats one number (`42, 42`), that number is the length (RFC 9110 §8.6).
    case bytes(Int64)
    /// The value is not a number, or the field has several different numbers.
    case malformed
  }

  /// The length of the body that follows the head.
  var bodyLength: BodyLength {
    let isCoded = listMembers("Transfer-Encoding").contains {
      !["identity", "none"].contains($0.lowercased())
    }
    guard !isCoded, !values("Content-Length").isEmpty else { return .unknown }
    if let text = value("Content-Length"), text.utf8.allSatisfy(\.isDigit), let length = Int64(text)
    {
      return .bytes(length)
    }
    let numbers = values("Content-Length").flatMap {
      $0.split(separator: ",", omittingEmptySubsequences: false)
    }
    .map { text -> Int64? in
      var scanner = TextScanner(String(text))
      scanner.skipWhile(\.isBlank)
      let number = scanner.integer()
      scanner.skipWhile(\.isBlank)
      return scanner.atEnd ? number : nil
    }
    guard let first = numbers[0], numbers.allSatisfy({ $0 == first }) else { return .malformed }
    return .bytes(first)
  }

  /// Returns how long the server asks the client to wait (RFC 9110 §10.2.3), at most one year; nil if the field is absent,
  /// repeated or invalid.
  ///
  /// If the field is a date, the wait counts from the response's Date, so that a wrong clock on either side does not matter.
  /// Without a Date, the wait counts from `now`.
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

  /// Returns when the representation was last changed (RFC 9110 §8.8.2); nil if the field is absent, repeated or invalid, or
  /// states a time before 1970 or after `now`.
  func modified(now: HTTPDate) -> HTTPDate? {
    guard let date = value("Last-Modified").flatMap({ HTTPDate($0, now: now) }),
      date.seconds >= 0, date <= now
    else { return nil }
    return date
  }

  /// Returns the members of a comma-separated field, with all of its lines joined (RFC 9110 §5.6.1).
  func listMembers(_ name: String) -> [String] {
    values(name).flatMap { $0.split(separator: ",") }.compactMap { member in
      var scanner = TextScanner(String(member))
      scanner.skipWhile(\.isBlank)
      let text = scanner.takeWhile { !$0.isBlank }
      return text.isEmpty ? nil : text
    }
  }
}
