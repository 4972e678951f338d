/// What proves that two answers carry the same representation, byte for byte (RFC 9110 §8.8).
package enum Validator: Sendable, Hashable {
  /// A strong entity tag with its quotes, as sent.
  case strongETag(String)
  /// A Last-Modified date as sent; only where the server sent no well-formed ETag (§13.1.5) and the date
  /// lay at least 60 s before the answer's Date, so that two changes within a second cannot hide.
  case lastModified(String)
  /// A weak tag and such a date, as sent. No condition can be made of it: both must be repeated, and ``overlap`` agree.
  case weakETag(String, modified: String)
  /// A tag without quotes, as sent, where there is no such date. It must be repeated.
  case unquotedETag(String)
  /// Nothing that the server says: the digest that the job demands proves the whole.
  case jobDigest

  /// The validator of an answer, nil where nothing in it is strong enough to resume by.
  ///
  /// A weak ETag is an ETag, and so are several that differ: Last-Modified does not stand in for it. A malformed one is none.
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

  /// Last-Modified as sent, where it is at least 60 s older than the answer. An answer without a usable Date is of now (RFC 9110
  /// §6.6.1).
  private static func settledDate(_ head: ResponseHead, now: HTTPDate) -> String? {
    guard let modified = head.value("Last-Modified"), let modifiedAt = HTTPDate(modified, now: now)
    else { return nil }
    let answeredAt = head.value("Date").flatMap { HTTPDate($0, now: now) } ?? now
    return modifiedAt.seconds <= answeredAt.seconds - 60 ? modified : nil
  }

  /// The value of an If-Range field; nil where none can be made.
  ///
  /// A tag starts with a quote and no date does, which is how servers tell them apart (§13.1.5).
  package var ifRangeValue: String? {
    switch self {
    case .strongETag(let text), .lastModified(let text): text
    case .weakETag, .unquotedETag, .jobDigest: nil
    }
  }

  /// How far a new range reaches back into what is durable, to be compared with the disk. In bytes.
  var overlap: Int64 { isWeak ? Self.longestOverlap : 4096 }

  /// The overlap in bytes for validators that prove least.
  static let longestOverlap: Int64 = 65_536

  /// Whether it is a weak tag.
  var isWeak: Bool {
    if case .weakETag = self { true } else { false }
  }

  /// How a later answer's field stands to this validator.
  enum Comparison: Sendable, Equatable {
    /// Present and equal, byte for byte.
    case same
    /// The field is not there.
    case absent
    /// Present and not equal; a weak tag equals no strong one (§8.8.3.2).
    case different
  }

  /// Compares with the same field of a later answer. For a date, its age no longer matters.
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

  /// A strong tag behind `W/`.
  private static func isWeakTag(_ text: String) -> Bool {
    text.hasPrefix("W/") && isStrongTag(String(text.dropFirst(2)))
  }

  /// `opaque-tag` of RFC 9110 §8.8.3: quoted, without quotes, spaces or control characters inside.
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
  /// One text: a tag with its quotes, a date, a weak tag and a date, `=` and a tag without quotes, or `digest`.
  package var text: String {
    switch self {
    case .strongETag(let text), .lastModified(let text): text
    case .weakETag(let tag, let modified): "\(tag) \(modified)"
    case .unquotedETag(let tag): "=\(tag)"
    case .jobDigest: "digest"
    }
  }

  /// Reads what ``text`` gives; nil for anything else.
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

  /// Reads ``text``.
  package init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    guard let validator = Validator(text: try container.decode(String.self)) else {
      throw DecodingError.dataCorruptedError(in: container, debugDescription: "no validator")
    }
    self = validator
  }

  /// Writes ``text``.
  package func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(text)
  }
}
