/// What an answer says about the digest of the representation.
extension ResponseHead {
  /// The digest of the whole representation as sent, content codings and all, by the algorithm that proves most; nil where
  /// the answer states none that can be computed. An algorithm whose statements differ says nothing.
  ///
  /// An ETag is no digest: that of a file that came to S3 in parts looks like an MD5 and is not its own.
  var statedDigest: ExpectedDigest? {
    let stated = statedDigests
    return DigestAlgorithm.allCases.lazy.compactMap { algorithm -> ExpectedDigest? in
      let ofOne = stated.filter { $0.algorithm == algorithm }
      guard let first = ofOne.first, ofOne.allSatisfy({ $0 == first }), algorithm.isComputable
      else { return nil }
      return first
    }.first
  }

  /// Whether the answer states another digest of the whole than `digest` by the same algorithm.
  func contradicts(_ digest: ExpectedDigest) -> Bool {
    let same = statedDigests.filter { $0.algorithm == digest.algorithm }
    return !same.isEmpty && !same.contains(digest)
  }

  /// All digests of the whole that can be read.
  ///
  /// Repr-Digest (RFC 9530 §3), Digest (RFC 3230 §4.3.2) and Google's field are of the whole even where a part of it is sent.
  /// Content-Digest (RFC 9530 §2), Content-MD5 (RFC 1864) and Amazon's fields are of what is sent, so that they count only in a 200.
  /// That of a part is not looked at: it says nothing of the file, nothing at all once the part breaks off, and what TCP or TLS let
  /// through spoilt is found by a digest of the whole.
  private var statedDigests: [ExpectedDigest] {
    let ofWhole = digests("Repr-Digest") + digests("Digest") + googleDigests
    guard status == 200 else { return ofWhole }
    let md5 = values("Content-MD5").compactMap { ExpectedDigest(spelled: "md5=\($0)") }
    return ofWhole + digests("Content-Digest") + md5 + amazonDigests
  }

  /// The members of a field such as `sha-256=:…:, md5=:…:`, in hexadecimal, in base64 or between colons, without parameters.
  private func digests(_ name: String) -> [ExpectedDigest] {
    listMembers(name).compactMap { member in
      ExpectedDigest(spelled: String(member.prefix { $0 != ";" }))
    }
  }

  /// The digests that Google Cloud Storage states of an object as it is stored; none where the response was decoded on the way.
  private var googleDigests: [ExpectedDigest] {
    let stored = value("x-goog-stored-content-encoding")?.lowercased() ?? "identity"
    guard stored == "identity" || stored == contentEncoding else { return [] }
    return digests("x-goog-hash")
  }

  /// The checksums that Amazon S3 states; none where they are composite, that is, checksums of the parts' checksums.
  private var amazonDigests: [ExpectedDigest] {
    guard value("x-amz-checksum-type")?.lowercased() != "composite" else { return [] }
    return ["sha256", "sha1", "crc64nvme", "crc32c", "crc32"].flatMap { algorithm in
      values("x-amz-checksum-\(algorithm)").compactMap {
        ExpectedDigest(spelled: "\(algorithm)=\($0)")
      }
    }
  }
}
