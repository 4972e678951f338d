/// What proves that two answers carry the same representation, byte for byte (RFC 9110 §8.8).
package enum Validator: Sendable, Hashable {
  /// A strong entity tag with its quotes, as sent.
  case strongETag(String)
  /// A Last-Modified date as sent; only where the server sent no ETag at all (§13.1.5) and the date
  /// lay at least 60 s before the answer's Date, so that two changes within a second cannot hide.
  case lastModified(String)

  /// The validator of an answer, nil where nothing in it is strong enough to resume by.
  ///
  /// A weak, malformed or repeated ETag is an ETag: Last-Modified does not stand in for it.
  init?(_ head: ResponseHead, now: HTTPDate) {
    let tags = head.values("ETag")
    if let tag = tags.first {
      guard tags.count == 1, Self.isStrongTag(tag) else { return nil }
      self = .strongETag(tag)
      return
    }
    guard let modified = head.value("Last-Modified"), let date = head.value("Date"),
      let modifiedAt = HTTPDate(modified, now: now), let answeredAt = HTTPDate(date, now: now),
      modifiedAt.seconds <= answeredAt.seconds - 60
    else { return nil }
    self = .lastModified(modified)
  }

  /// Reads what `ifRangeValue` gives; nil for a weak or malformed tag.
  ///
  /// A tag starts with a quote and no date does, which is how servers tell them apart (§13.1.5).
  package init?(ifRangeValue text: String) {
    if Self.isStrongTag(text) {
      self = .strongETag(text)
    } else if HTTPDate(text, now: .now) != nil {
      self = .lastModified(text)
    } else {
      return nil
    }
  }

  /// The value of an If-Range field.
  package var ifRangeValue: String {
    switch self {
    case .strongETag(let text), .lastModified(let text): text
    }
  }

  /// How a later answer's field stands to this validator.
  enum Comparison: Sendable, Equatable {
    /// Present and equal, byte for byte.
    case same
    /// The field is not there.
    case absent
    /// Present and not equal; a weak or repeated tag equals nothing (strong comparison, §8.8.3.2).
    case different
  }

  /// Compares with the same field of a later answer. For a date, its age no longer matters.
  func compared(with head: ResponseHead) -> Comparison {
    let values =
      switch self {
      case .strongETag: head.values("ETag")
      case .lastModified: head.values("Last-Modified")
      }
    if values.isEmpty { return .absent }
    guard values.count == 1 else { return .different }
    return values[0].utf8.elementsEqual(ifRangeValue.utf8) ? .same : .different
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
  /// Reads the If-Range value.
  package init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    guard let validator = Validator(ifRangeValue: try container.decode(String.self)) else {
      throw DecodingError.dataCorruptedError(in: container, debugDescription: "no strong validator")
    }
    self = validator
  }

  /// Writes the If-Range value.
  package func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(ifRangeValue)
  }
}
