/// A value that identifies a version of a representation. Two responses with the same validator carry the same bytes (RFC 9110
/// §8.8).
package enum Validator: Sendable, Hashable {
  /// A strong entity tag with its quotes, as sent.
  case strongETag(String)
  /// A Last-Modified date as sent. Haul uses the date only if the server sent no well-formed ETag (RFC 9110 §13.1.5). The date
  /// must also be at least 60 seconds before the response's Date. A more recent file could change a second time within the
  /// same second, and Haul would not notice.
  case lastModified(String)
  /// A weak entity tag and a Last-Modified date, as sent. Neither is strong enough for If-Range. A later response must repeat
  /// both. Haul also requests the last ``overlap`` durable bytes again. These bytes must be the same as on the disk.
  case weakETag(String, modified: String)
  /// An entity tag that the server sent without quotes. Haul uses this tag only if the server sent no usable Last-Modified
  /// date. A later response must repeat the tag.
  case unquotedETag(String)
  /// The server sent no usable validator, but the job requires a digest. After a resume, this digest proves that the whole file
  /// is right.
  case jobDigest

  /// Reads the validator of a response; nil if the response has none that is strong enough for a resume.
  ///
  /// If the response has a well-formed ETag, the result is never a Last-Modified date alone. If the response also has a
  /// different ETag, the result is nil.
  init?(_ head: ResponseHead, now: HTTPDate) {
    let tags = head.values("ETag")
    let isOne = head.value("ETag") != nil
    if let tag = tags.first(where: { Self.isStrongTag($0) || Self.isWeakTag($0) }) {
      if isOne, Self.isStrongTag(tag) {
        self = .strongETag(tag)
      } else if isOne, let modified = Self.settledDate(head, now: now) {
        self = .weakETag(tag, modified: modified)
      } else {
        return nil
      }
    } else if let modified = Self.settledDate(head, now: now) {
      self = .lastModified(modified)
    } else if isOne, let tag = tags.first, !tag.isEmpty {
      self = .unquotedETag(tag)
    } else {
      return nil
    }
  }

  /// Returns Last-Modified as sent if it is at least 60 s older than the response; otherwise nil. A response without a usable
  /// Date counts as sent now (RFC 9110 §6.6.1).
  private static func settledDate(_ head: ResponseHead, now: HTTPDate) -> String? {
    guard let modified = head.value("Last-Modified"), let modifiedAt = HTTPDate(modified, now: now)
    else { return nil }
    let answeredAt = head.value("Date").flatMap { HTTPDate($0, now: now) } ?? now
    return modifiedAt.seconds <= answeredAt.seconds - 60 ? modified : nil
  }

  /// The validator as the value of an If-Range field; nil if the validator is not valid in an If-Range field.
  ///
  /// A tag starts with a quote and a date does not, so that servers can distinguish them (RFC 9110 §13.1.5).
  package var ifRangeValue: String? {
    switch self {
    case .strongETag(let text), .lastModified(let text): text
    case .weakETag, .unquotedETag, .jobDigest: nil
    }
  }

  /// The number of durable bytes that a new range requests again, to compare them with the disk.
  var overlap: Int64 { isWeak ? Self.longestOverlap : 4096 }

  /// The longest possible overlap in bytes, such as for a weak tag.
  static let longestOverlap: Int64 = 65_536

  /// Whether the validator is a weak tag.
  var isWeak: Bool {
    if case .weakETag = self { true } else { false }
  }

  /// The result of comparing a validator with a later response.
  enum Comparison: Sendable, Equatable {
    /// The field is present, and its value is the same, byte for byte.
    case same
    /// The field is absent.
    case absent
    /// The field is present, and its value differs. A weak tag never equals a strong one (RFC 9110 §8.8.3.2).
    case different
  }

  /// Compares the validator with the same fields of a later response. Here, a Last-Modified date may be less than 60 seconds
  /// old.
  func compared(with head: ResponseHead) -> Comparison {
    switch self {
    case .strongETag(let tag), .unquotedETag(let tag): Self.compare(tag, head.values("ETag"))
    case .lastModified(let date): Self.compare(date, head.values("Last-Modified"))
    case .weakETag(let tag, let date):
      switch (
        Self.compare(tag, head.values("ETag")), Self.compare(date, head.values("Last-Modified"))
      ) {
      case (.same, .same): .same
      case (.different, _), (_, .different): .different
      default: .absent
      }
    case .jobDigest: .same
    }
  }

  private static func compare(_ known: String, _ values: [String]) -> Comparison {
    if values.isEmpty { return .absent }
    return values.allSatisfy { $0.utf8.elementsEqual(known.utf8) } ? .same : .different
  }

  /// Returns whether the text is a weak tag: `W/`, followed by the form of a strong tag.
  private static func isWeakTag(_ text: String) -> Bool {
    text.hasPrefix("W/") && isStrongTag(String(text.dropFirst(2)))
  }

  /// Returns whether the text is an `opaque-tag` of RFC 9110 §8.8.3: text in quotes that contains no quotes, spaces or control
  /// characters.
  static func isStrongTag(_ text: String) -> Bool {
    let bytes = text.utf8
    guard bytes.count >= 2, bytes.first == UInt8(ascii: "\""), bytes.last == UInt8(ascii: "\"")
    else { return false }
    return bytes.dropFirst().dropLast().allSatisfy {
      $0 > 0x20 && $0 != UInt8(ascii: "\"") && $0 != 0x7f
    }
  }
}

extension Validator: Codable {
  /// The validator as text, in one of these forms: a strong tag with its quotes; a date; a weak tag, a space and a date; `=`
  /// and a tag without quotes; or the word `digest`.
  package var text: String {
    switch self {
    case .strongETag(let text), .lastModified(let text): text
    case .weakETag(let tag, let modified): "\(tag) \(modified)"
    case .unquotedETag(let tag): "=\(tag)"
    case .jobDigest: "digest"
    }
  }

  /// Reads a validator from the form of ``text``; nil for any other text.
  package init?(text: String) {
    if Self.isStrongTag(text) {
      self = .strongETag(text)
    } else if text == "digest" {
      self = .jobDigest
    } else if text.hasPrefix("="), text.count > 1 {
      self = .unquotedETag(String(text.dropFirst()))
    } else if let end = text.lastIndex(of: "\""), Self.isWeakTag(String(text[...end])),
      HTTPDate(String(text[end...].dropFirst(2)), now: .now) != nil
    {
      self = .weakETag(String(text[...end]), modified: String(text[end...].dropFirst(2)))
    } else if HTTPDate(text, now: .now) != nil {
      self = .lastModified(text)
    } else {
      return nil
    }
  }

  /// Decodes a validator from the form of ``text``.
  package init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    guard let validator = Validator(text: try container.decode(String.self)) else {
      throw DecodingError.dataCorruptedError(
        in: container, debugDescription: "the text is not an ETag or a Last-Modified time")
    }
    self = validator
  }

  /// Encodes the validator in the form of ``text``.
  package func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(text)
  }
}
