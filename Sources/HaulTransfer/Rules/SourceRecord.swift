import FoundationEssentials

/// The statements of the source about a completely downloaded file. With these statements, a later request can ask whether the
/// source still has that file (RFC 9110 §13.1.2, §13.1.3).
package struct SourceRecord: Sendable, Hashable {
  /// The entity tag as sent, strong or weak; nil if there was none.
  var entityTag: String?
  /// The Last-Modified value as sent; nil if ``Validator`` does not accept it as a validator.
  var lastModified: String?
  /// The media type, in the form of ``Checkpoint/mediaType``.
  package var mediaType: String?
  /// The SHA-256 of the URL that answered, in hexadecimal; nil unless redirects led to another URL than the job's. A validator
  /// distinguishes representations of one resource, not of several resources.
  var resource: String?
  /// The length of the file in bytes; nil if it is not known.
  package var length: Int64?
  /// A response that may be an error page, received instead of the file's next version; nil if there was none. See
  /// ``SuspectPage``.
  package var suspect: SuspectPage?

  /// Creates the record from the response that carried the file, or from a 206 that continued it.
  init(
    validator: Validator?, mediaType: String?, head: ResponseHead, resource: String?
  ) {
    switch validator {
    case .strongETag(let tag): entityTag = tag
    case .lastModified(let date): lastModified = date
    case .weakETag, .unquotedETag, .jobDigest, nil:
      entityTag = head.value("ETag").flatMap { Self.opaqueTag($0) == nil ? nil : $0 }
    }
    self.mediaType = mediaType
    self.resource = resource
  }

  /// The field that makes a request conditional: the source sends the file only if it has changed. Nil without a validator. If
  /// there is an entity tag, the date is not used (RFC 9110 §13.1.3).
  var condition: ResponseHead.Field? {
    if let entityTag { return .init("If-None-Match", entityTag) }
    return lastModified.map { .init("If-Modified-Since", $0) }
  }

  /// Returns whether a 304 may refer to this representation. If the 304 repeats a validator, it must equal the one that Haul
  /// sent, by weak comparison (RFC 9110 §8.8.3.2).
  func isMeant(by head: ResponseHead) -> Bool {
    if let entityTag {
      let tags = head.values("ETag")
      return tags.allSatisfy { Self.opaqueTag($0) == Self.opaqueTag(entityTag) }
    }
    return head.values("Last-Modified").allSatisfy {
      Array($0.utf8) == lastModified.map { Array($0.utf8) }
    }
  }

  /// Whether a response with a body repeats the validator of this record.
  func isRepeated(by head: ResponseHead) -> Bool {
    let values = head.values(entityTag == nil ? "Last-Modified" : "ETag")
    return !values.isEmpty && isMeant(by: head)
  }

  /// Whether a response with a body states that it is this representation, byte for byte.
  func isProven(by head: ResponseHead) -> Bool {
    guard let entityTag else { return isRepeated(by: head) }
    return Validator.isStrongTag(entityTag)
      && Validator.strongETag(entityTag).compared(with: head) == .same
  }

  /// Returns the bytes of an entity tag without the mark `W/`, or nil if `text` is not an entity tag.
  private static func opaqueTag(_ text: String) -> [UInt8]? {
    let tag = text.hasPrefix("W/") ? text.dropFirst(2) : text[...]
    return Validator.isStrongTag(String(tag)) ? Array(tag.utf8) : nil
  }
}

extension SourceRecord {
  /// The statements to store, as texts with names such as `etag` and `length`. Unknown values are left out.
  package var fields: [String: String] {
    let all = [
      "etag": entityTag, "modified": lastModified, "type": mediaType, "url": resource,
      "length": length.map { "\($0)" }, "suspect": suspect.flatMap(Self.text),
    ]
    return all.compactMapValues(\.self)
  }

  /// Reads the values that ``fields`` returns.
  package init(fields: [String: String]) {
    entityTag = fields["etag"]
    lastModified = fields["modified"]
    mediaType = fields["type"]
    resource = fields["url"]
    length = fields["length"].flatMap { Int64($0) }
    suspect = fields["suspect"].flatMap {
      try? JSONDecoder().decode(SuspectPage.self, from: Data($0.utf8))
    }
  }

  private static func text(_ suspect: SuspectPage) -> String? {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    return (try? encoder.encode(suspect)).map { String(decoding: $0, as: UTF8.self) }
  }
}

extension WebURL {
  /// The key of the URL in a ``SourceRecord``: its SHA-256.
  var resource: String { DigestAlgorithm.sha256(of: text) }
}
