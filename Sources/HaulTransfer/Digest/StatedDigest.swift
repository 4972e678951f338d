/// The digests that a response states.
extension ResponseHead {
  /// The digest of the whole representation as sent, including content codings, with the strongest stated algorithm. Nil if the
  /// response states no digest that this process can compute. An algorithm is ignored if the response states different digests
  /// for it.
  ///
  /// An ETag is not a digest. The ETag of a file that was uploaded to S3 in parts looks like an MD5, but is not the file's MD5.
  var statedDigest: ExpectedDigest? {
    let stated = statedDigests
    guard !stated.isEmpty else { return nil }
    return DigestAlgorithm.allCases.lazy.compactMap { algorithm -> ExpectedDigest? in
      let ofOne = stated.filter { $0.algorithm == algorithm }
      guard let first = ofOne.first, ofOne.allSatisfy({ $0 == first }), algorithm.isComputable
      else { return nil }
      return first
    }.first
  }

  /// Returns whether the response states digests of the whole file with the algorithm of `digest`, but not `digest` itself.
  func contradicts(_ digest: ExpectedDigest) -> Bool {
    let same = statedDigests.filter { $0.algorithm == digest.algorithm }
    return !same.isEmpty && !same.contains(digest)
  }

  /// All readable digests of the whole file.
  ///
  /// Repr-Digest (RFC 9530 §3), Digest (RFC 3230 §4.3.2) and Google's field describe the whole file, even if the server sends
  /// only a part. Content-Digest (RFC 9530 §2), Content-MD5 (RFC 1864) and Amazon's fields describe what the server sends, so
  /// they count only in a 200. Haul ignores the digest of a part. Such a digest says nothing about the whole file, and Haul
  /// could not check it if the connection broke within the part. A digest of the whole file finds damage that TCP or TLS did
  /// not detect.
  private var statedDigests: [ExpectedDigest] {
    let ofWhole = digests("Repr-Digest") + digests("Digest") + googleDigests
    guard status == 200 else { return ofWhole }
    let md5 = values("Content-MD5").compactMap { ExpectedDigest(spelled: "md5=\($0)") }
    return ofWhole + digests("Content-Digest") + md5 + amazonDigests
  }

  /// Returns the digests in a field such as `sha-256=:…:, md5=:…:`. Digests are in hexadecimal, in base64 or between
  /// colons. Parameters are ignored.
  private func digests(_ name: String) -> [ExpectedDigest] {
    listMembers(name).compactMap { member in
      ExpectedDigest(spelled: String(member.prefix { $0 != ";" }))
    }
  }

  /// The digests that Google Cloud Storage states for an object as stored; empty if the object is stored with a content coding
  /// that the response does not have.
  private var googleDigests: [ExpectedDigest] {
    let stored = value("x-goog-stored-content-encoding")?.lowercased() ?? "identity"
    guard stored == "identity" || stored == contentEncoding else { return [] }
    return digests("x-goog-hash")
  }

  private static let amazonFields = ["sha256", "sha1", "crc64nvme", "crc32c", "crc32"].map {
    (name: "x-amz-checksum-\($0)", algorithm: $0)
  }

  /// The checksums that Amazon S3 states; empty if they are composite, that is, checksums of the parts' checksums.
  private var amazonDigests: [ExpectedDigest] {
    guard value("x-amz-checksum-type")?.lowercased() != "composite" else { return [] }
    return Self.amazonFields.flatMap { name, algorithm in
      values(name).compactMap { ExpectedDigest(spelled: "\(algorithm)=\($0)") }
    }
  }
}
