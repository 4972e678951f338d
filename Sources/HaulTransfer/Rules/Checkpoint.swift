import FoundationEssentials

/// The durable progress of one download. Its JSON form is the *resume data*, from which another process or machine can
/// continue.
///
/// Haul makes a checkpoint only after it has synced the bytes of `durable`, so at that moment the disk has all bytes that the
/// checkpoint names.
package struct Checkpoint: Sendable, Hashable {
  /// The original URL, never the target of a redirect; nil if the owner stores it elsewhere.
  package var url: String?
  /// The length of the whole representation in bytes.
  package var completeLength: Int64
  /// The validator that a resume requires; nil if the server sent none. Without a validator, Haul does not resume.
  package var validator: Validator?
  /// The content codings as sent, in lower case, joined by commas; nil if the body has none.
  package var contentEncoding: String?
  /// The media type and subtype as sent, in lower case; nil if the server sent none.
  package var mediaType: String?
  /// The file name that the server sent; nil if it sent none.
  package var suggestedName: String?
  /// The path that was chosen for the file, below the requested directory; nil if the path itself was requested.
  var chosenName: String?
  /// The digest of the whole file that the server stated; nil if it stated none.
  package var digest: ExpectedDigest?
  /// The time of the source's last change according to the server, in seconds since 1970; nil if the server did not state it.
  package var modified: Int64?
  /// The bytes of the part file that survive a crash.
  package var durable: ByteRanges
  /// The name of the part file in its directory.
  package var part: String
  /// The absolute path of the part file's directory; nil if the owner of the checkpoint knows the directory.
  package var directory: String?
  /// The inode number of the part file. A file with the name ``part`` and another inode is not this part file.
  package var inode: UInt64
  /// The number of times that the source has changed. After three changes, Haul no longer resumes.
  package var changes: Int
  /// Whether the query of the URL has changed since the checkpoint. A query may select another file, so Haul compares more
  /// bytes.
  package var isMoved = false
  /// Whether the bytes come from a URL with another host or path. Only a response with the same strong ETag continues these
  /// bytes. Nothing else in the checkpoint says anything about the file at the new URL.
  package var isFromElsewhere = false
  /// The final path of the file that Haul is about to publish. Haul sets it just before the rename, when all bytes are durable.
  /// Nil until then.
  package var publishing: String?
  /// A response that may be an error page and that came instead of the rest of the file; nil if there was none. See
  /// ``SuspectPage``.
  var suspect: SuspectPage?
  /// The server's last refusal of a range, with the number of times in a row that it came; nil if there was none.
  var refusal: RangeRefusal?

  /// A refusal of a range, and how many times in a row the server has sent it.
  struct RangeRefusal: Sendable, Hashable, Codable {
    /// The status of the response; 0 if no response came.
    var status: Int
    var count: Int
  }

  /// Creates a checkpoint.
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

  /// Whether Haul may request the rest of the file: some bytes are durable, the checkpoint has a validator, and the source has
  /// changed fewer than three times. This does not check that the part file exists.
  package var isResumable: Bool {
    guard let validator, changes < Attempts.maximumChanges else { return false }
    if isMoved || validator.isWeak { return durable.prefixEnd >= overlap }
    return !durable.isEmpty
  }

  /// Sets ``durable``. New bytes were accepted only because they continue the old ones, so they clear ``isMoved`` and
  /// ``isFromElsewhere``.
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
  /// The version of the JSON form that this code writes. This code reads no other version.
  package static let version = 1

  private enum CodingKeys: String, CodingKey {
    case version, url, completeLength, validator, contentEncoding, mediaType, suggestedName,
      chosenName, digest, modified
    case durable, part, directory, inode, changes, publishing, suspect, refusal, moved, elsewhere
  }

  /// Reads the JSON form.
  ///
  /// - Throws: an error for invalid data or another version.
  package init(resumeData: [UInt8]) throws(DecodingError) {
    do {
      self = try JSONDecoder().decode(Checkpoint.self, from: Data(resumeData))
    } catch let error as DecodingError {
      throw error
    } catch {
      throw .dataCorrupted(
        .init(
          codingPath: [], debugDescription: "cannot read the resume data", underlyingError: error))
    }
  }

  /// Returns the JSON form, with sorted keys.
  package func resumeData() throws(EncodingError) -> [UInt8] {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    do {
      return Array(try encoder.encode(self))
    } catch let error as EncodingError {
      throw error
    } catch {
      throw .invalidValue(
        self,
        .init(
          codingPath: [], debugDescription: "cannot encode the resume data", underlyingError: error)
      )
    }
  }

  /// Decodes a checkpoint. Throws for another version, a negative length, or more durable bytes than the file has.
  package init(from decoder: any Decoder) throws {
    let values = try decoder.container(keyedBy: CodingKeys.self)
    let version = try values.decode(Int.self, forKey: .version)
    guard version == Self.version else {
      throw DecodingError.dataCorruptedError(
        forKey: .version, in: values,
        debugDescription: "the resume data has the unknown version \(version)")
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
        forKey: .durable, in: values,
        debugDescription: "the resume data has more bytes than the file")
    }
  }

  /// Encodes the checkpoint, including the version number of the encoding.
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
