import FoundationEssentials

/// Durable progress of one download, and in its JSON form the *resume data* that another process or
/// machine goes on from.
///
/// Everything in it is true of the disk at the moment it is made: it is recorded only after the
/// bytes of `durable` were synced.
package struct Checkpoint: Sendable, Hashable {
  /// The original URL, never one that a redirect named; nil where the owner keeps it elsewhere.
  package var url: String?
  /// Length of the whole representation in bytes.
  package var completeLength: Int64
  /// What a resume is conditional on; without one nothing is resumed.
  package var validator: Validator?
  /// Content codings as sent, lower case, joined by commas; nil for none.
  package var contentEncoding: String?
  /// Type and subtype as sent, lower case; nil where the server sent none.
  package var mediaType: String?
  /// The name that the server sends for the file; nil where it sent none.
  package var suggestedName: String?
  /// The path that was chosen for the file, below the directory that was asked for; nil where its path was asked for.
  var chosenName: String?
  /// The digest of the whole that the server stated; nil where it did not.
  package var digest: ExpectedDigest?
  /// When the source was last changed, by its own word, in seconds since 1970; nil where it did not say.
  package var modified: Int64?
  /// Which bytes of the part file survive a crash.
  package var durable: ByteRanges
  /// The part file's name in its directory.
  package var part: String
  /// The absolute path of that directory; nil where the owner knows it.
  package var directory: String?
  /// The part file's inode: a file of that name with another inode is not this one.
  package var inode: UInt64
  /// How often the source was found replaced; at three there is no more resuming.
  package var changes: Int
  /// Whether the query of the URL has changed since. A query may select another file, so more bytes are compared.
  package var isMoved = false
  /// Whether the bytes are those of a URL with another host or path. Only a response with the same strong tag continues them.
  /// Nothing else that is recorded says anything about the new URL's file.
  package var isFromElsewhere = false
  /// The intent to publish: the final path, set just before the rename and only when all is
  /// durable.
  package var publishing: String?
  /// A response that came instead of the rest, see ``SuspectPage``.
  var suspect: SuspectPage?
  /// How the server last refused a range; nil where it did not.
  var refusal: RangeRefusal?

  /// The same refusals of a range in a row.
  struct RangeRefusal: Sendable, Hashable, Codable {
    /// 0: no response came.
    var status: Int
    var count: Int
  }

  /// Progress made of its parts.
  package init(
    url: String? = nil, completeLength: Int64, validator: Validator?,
    contentEncoding: String? = nil, mediaType: String? = nil, digest: ExpectedDigest? = nil,
    modified: Int64? = nil, durable: ByteRanges, part: String, inode: UInt64, changes: Int = 0,
    publishing: String? = nil
  ) {
    self.url = url
    self.completeLength = completeLength
    self.validator = validator
    self.contentEncoding = contentEncoding
    self.mediaType = mediaType
    self.digest = digest
    self.modified = modified
    self.durable = durable
    self.part = part
    self.inode = inode
    self.changes = changes
    self.publishing = publishing
  }

  /// Whether every byte of the representation is durable.
  package var isComplete: Bool { durable.contains(0..<completeLength) }

  /// Whether the rest may be asked for: some bytes are durable, a validator guards them, and the
  /// source did not change three times. That the part file is there is for the disk to say.
  package var isResumable: Bool {
    guard let validator, changes < Attempts.maximumChanges else { return false }
    if isMoved || validator.isWeak { return durable.prefixEnd >= overlap }
    return !durable.isEmpty
  }

  /// Sets ``durable``. Bytes that are new were compared with those before them, so ``isMoved`` and ``isFromElsewhere`` end.
  mutating func advance(to durable: ByteRanges) {
    if durable != self.durable { (isMoved, isFromElsewhere) = (false, false) }
    self.durable = durable
  }

  /// The number of durable bytes to request again and compare.
  var overlap: Int64 {
    isMoved ? Validator.longestOverlap : validator?.overlap ?? Validator.longestOverlap
  }
}

extension Checkpoint: Codable {
  /// The version of the JSON form that this code writes, and the only one it reads.
  package static let version = 1

  private enum CodingKeys: String, CodingKey {
    case version, url, completeLength, validator, contentEncoding, mediaType, suggestedName,
      chosenName, digest, modified
    case durable, part, directory, inode, changes, publishing, suspect, refusal, moved, elsewhere
  }

  /// The JSON form.
  package init(resumeData: [UInt8]) throws(DecodingError) {
    do {
      self = try JSONDecoder().decode(Checkpoint.self, from: Data(resumeData))
    } catch let error as DecodingError {
      throw error
    } catch {
      throw .dataCorrupted(
        .init(codingPath: [], debugDescription: "unreadable resume data", underlyingError: error))
    }
  }

  /// Writes the JSON form, keys sorted.
  package func resumeData() throws(EncodingError) -> [UInt8] {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    do {
      return Array(try encoder.encode(self))
    } catch let error as EncodingError {
      throw error
    } catch {
      throw .invalidValue(
        self, .init(codingPath: [], debugDescription: "cannot be encoded", underlyingError: error))
    }
  }

  /// Reads a keyed form. Another version, a negative length or durable bytes beyond the length are
  /// corrupt data.
  package init(from decoder: any Decoder) throws {
    let values = try decoder.container(keyedBy: CodingKeys.self)
    let version = try values.decode(Int.self, forKey: .version)
    guard version == Self.version else {
      throw DecodingError.dataCorruptedError(
        forKey: .version, in: values, debugDescription: "resume data of version \(version)")
    }
    url = try values.decodeIfPresent(String.self, forKey: .url)
    completeLength = try values.decode(Int64.self, forKey: .completeLength)
    validator = try values.decodeIfPresent(Validator.self, forKey: .validator)
    contentEncoding = try values.decodeIfPresent(String.self, forKey: .contentEncoding)
    mediaType = try values.decodeIfPresent(String.self, forKey: .mediaType)
    suggestedName = try values.decodeIfPresent(String.self, forKey: .suggestedName)
    chosenName = try values.decodeIfPresent(String.self, forKey: .chosenName)
    digest = try values.decodeIfPresent(String.self, forKey: .digest).flatMap {
      ExpectedDigest(spelled: $0)
    }
    modified = try values.decodeIfPresent(Int64.self, forKey: .modified)
    durable = try values.decode(ByteRanges.self, forKey: .durable)
    part = try values.decode(String.self, forKey: .part)
    directory = try values.decodeIfPresent(String.self, forKey: .directory)
    inode = try values.decode(UInt64.self, forKey: .inode)
    changes = try values.decode(Int.self, forKey: .changes)
    publishing = try values.decodeIfPresent(String.self, forKey: .publishing)
    suspect = try values.decodeIfPresent(SuspectPage.self, forKey: .suspect)
    refusal = try values.decodeIfPresent(RangeRefusal.self, forKey: .refusal)
    isMoved = try values.decodeIfPresent(Bool.self, forKey: .moved) ?? false
    isFromElsewhere = try values.decodeIfPresent(Bool.self, forKey: .elsewhere) ?? false
    guard completeLength >= 0, durable.end <= completeLength, changes >= 0 else {
      throw DecodingError.dataCorruptedError(
        forKey: .durable, in: values, debugDescription: "durable bytes beyond the length")
    }
  }

  /// Writes a keyed form with its version.
  package func encode(to encoder: any Encoder) throws {
    var values = encoder.container(keyedBy: CodingKeys.self)
    try values.encode(Self.version, forKey: .version)
    try values.encodeIfPresent(url, forKey: .url)
    try values.encode(completeLength, forKey: .completeLength)
    try values.encodeIfPresent(validator, forKey: .validator)
    try values.encodeIfPresent(contentEncoding, forKey: .contentEncoding)
    try values.encodeIfPresent(mediaType, forKey: .mediaType)
    try values.encodeIfPresent(suggestedName, forKey: .suggestedName)
    try values.encodeIfPresent(chosenName, forKey: .chosenName)
    try values.encodeIfPresent(digest?.description, forKey: .digest)
    try values.encodeIfPresent(modified, forKey: .modified)
    try values.encode(durable, forKey: .durable)
    try values.encode(part, forKey: .part)
    try values.encodeIfPresent(directory, forKey: .directory)
    try values.encode(inode, forKey: .inode)
    try values.encode(changes, forKey: .changes)
    try values.encodeIfPresent(publishing, forKey: .publishing)
    try values.encodeIfPresent(suspect, forKey: .suspect)
    try values.encodeIfPresent(refusal, forKey: .refusal)
    if isMoved { try values.encode(true, forKey: .moved) }
    if isFromElsewhere { try values.encode(true, forKey: .elsewhere) }
  }
}
