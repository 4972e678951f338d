import CLibcrypto

/// A checksum that a job may demand.
public enum DigestAlgorithm: String, Sendable, CaseIterable, Codable {
  /// RFC 9530 §5, as are their spellings here.
  case sha256 = "sha-256"
  /// As `sha256`.
  case sha512 = "sha-512"
  /// Old, still published beside many files; proves nothing against an attacker.
  case sha1 = "sha-1"
  /// As `sha1`.
  case md5

  /// The length of a digest in bytes.
  public var byteCount: Int {
    switch self {
    case .sha256: 32
    case .sha512: 64
    case .sha1: 20
    case .md5: 16
    }
  }

  /// Finds `sha-256`, `SHA256` and the like; nil for any other.
  init?(spelled text: String) {
    let plain = text.lowercased().filter { $0 != "-" }
    guard let found = Self.allCases.first(where: { $0.rawValue.filter { $0 != "-" } == plain })
    else { return nil }
    self = found
  }

  fileprivate var method: OpaquePointer? {
    switch self {
    case .sha256: unsafe EVP_sha256()
    case .sha512: unsafe EVP_sha512()
    case .sha1: unsafe EVP_sha1()
    case .md5: unsafe EVP_md5()
    }
  }
}

/// A digest in the making, over libcrypto's EVP.
///
/// `@unchecked Sendable` holds because its owners use it from one thread at a time: the file writer
/// under a lock, `PartFile` within one call.
@safe final class DigestContext: @unchecked Sendable {
  private let context: OpaquePointer
  private let algorithm: DigestAlgorithm

  /// An empty message.
  ///
  /// - Throws: `digest` where libcrypto does not have the algorithm, as MD5 under FIPS.
  init(_ algorithm: DigestAlgorithm) throws(TransferError) {
    guard let context = unsafe EVP_MD_CTX_new() else { fatalError("out of memory") }
    guard unsafe EVP_DigestInit_ex(context, algorithm.method, nil) == 1 else {
      unsafe EVP_MD_CTX_free(context)
      throw TransferError(.digest, "libcrypto does not compute \(algorithm.rawValue) here")
    }
    unsafe self.context = unsafe context
    self.algorithm = algorithm
  }

  deinit {
    unsafe EVP_MD_CTX_free(context)
  }

  /// Adds `bytes` to the message; fails only for a finished context, which this never is.
  func update(_ bytes: UnsafeRawBufferPointer) {
    unsafe EVP_DigestUpdate(context, bytes.baseAddress, bytes.count)
  }

  /// The digest of the message so far; more may be added after.
  func finish() -> [UInt8] {
    guard let copy = unsafe EVP_MD_CTX_new() else { fatalError("out of memory") }
    defer { unsafe EVP_MD_CTX_free(copy) }
    unsafe EVP_MD_CTX_copy_ex(copy, context)
    var digest = [UInt8](repeating: 0, count: algorithm.byteCount)
    unsafe EVP_DigestFinal_ex(copy, &digest, nil)
    return digest
  }
}
