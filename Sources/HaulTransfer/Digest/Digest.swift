import HaulCLibcrypto

/// A checksum algorithm that a job may require or a server may use. The cases are in order of preference: if a server states
/// several digests, Haul checks the one whose algorithm comes first here.
public enum DigestAlgorithm: String, Sendable, CaseIterable, Codable {
  /// SHA-256 (RFC 9530 §5).
  case sha256 = "sha-256"
  /// SHA-512 (RFC 9530 §5).
  case sha512 = "sha-512"
  /// SHA-1. Many servers still publish SHA-1 digests, but these do not protect against an attacker.
  case sha1 = "sha-1"
  /// MD5. Many servers still publish MD5 digests, but these do not protect against an attacker.
  case md5
  /// CRC-64/NVME. This checksum, CRC-32C and CRC-32 detect accidental damage only.
  case crc64nvme
  /// CRC-32C, the CRC with Castagnoli's polynomial.
  case crc32c
  /// CRC-32, as zlib computes it.
  case crc32

  /// The length of a digest in bytes.
  public var byteCount: Int {
    switch self {
    case .sha256: 32
    case .sha512: 64
    case .sha1: 20
    case .md5: 16
    case .crc64nvme: 8
    case .crc32c, .crc32: 4
    }
  }

  /// Finds the algorithm by its name, such as `sha-256` or `SHA256`. `sha` is SHA-1, as in RFC 3230. Nil for any other text.
  package init?(spelled text: String) {
    let plain = text.lowercased().filter { $0 != "-" }
    if plain == "sha" {
      self = .sha1
      return
    }
    guard let found = Self.allCases.first(where: { $0.rawValue.filter { $0 != "-" } == plain })
    else { return nil }
    self = found
  }

  /// Finds the algorithm by the number of hexadecimal digits. Nil if no algorithm in common use has this length.
  package init?(hexadecimalLength length: Int) {
    switch length {
    case 32: self = .md5
    case 40: self = .sha1
    case 64: self = .sha256
    case 128: self = .sha512
    default: return nil
    }
  }

  /// Whether this process can compute digests with the algorithm.
  var isComputable: Bool { (try? DigestContext(self)) != nil }

  /// The method of libcrypto; nil for a cyclic redundancy check.
  fileprivate var method: OpaquePointer? {
    switch self {
    case .sha256: unsafe EVP_sha256()
    case .sha512: unsafe EVP_sha512()
    case .sha1: unsafe EVP_sha1()
    case .md5: unsafe EVP_md5()
    case .crc64nvme, .crc32c, .crc32: nil
    }
  }

  fileprivate var table: CRC.Table? {
    switch self {
    case .sha256, .sha512, .sha1, .md5: nil
    case .crc64nvme: .crc64nvme
    case .crc32c: .crc32c
    case .crc32: .crc32
    }
  }
}

/// A digest that is being computed, with libcrypto's EVP or a ``CRC``.
///
/// `@unchecked Sendable` holds because its owners use it from one thread at a time: the file writer
/// under a lock, `PartFile` within one call.
@safe final class DigestContext: @unchecked Sendable {
  let algorithm: DigestAlgorithm
  private let context: OpaquePointer
  private var check: CRC?

  /// Starts with an empty message.
  ///
  /// - Throws: `digest` if libcrypto does not have the algorithm, such as MD5 under FIPS.
  init(_ algorithm: DigestAlgorithm) throws(TransferError) {
    // EVP_MD_CTX_new fails only without free memory. Swift's own allocations then end the process, too.
    guard let context = unsafe EVP_MD_CTX_new() else { fatalError("out of memory") }
    check = algorithm.table.map(CRC.init)
    if check == nil, unsafe EVP_DigestInit_ex(context, algorithm.method, nil) != 1 {
      unsafe EVP_MD_CTX_free(context)
      throw TransferError(
        .digest, "libcrypto on this machine does not support \(algorithm.rawValue)")
    }
    unsafe self.context = unsafe context
    self.algorithm = algorithm
  }

  deinit {
    unsafe EVP_MD_CTX_free(context)
  }

  /// Adds `bytes` to the message. libcrypto fails only for a finished context, and this context is never finished.
  func update(_ bytes: UnsafeRawBufferPointer) {
    guard check == nil else {
      unsafe check?.update(bytes)
      return
    }
    unsafe EVP_DigestUpdate(context, bytes.baseAddress, bytes.count)
  }

  /// Returns the digest of the message so far. More bytes may be added afterwards.
  func finish() -> [UInt8] {
    if let check { return check.finish() }
    // This fails only without free memory, as in the initialiser.
    guard let copy = unsafe EVP_MD_CTX_new() else { fatalError("out of memory") }
    defer { unsafe EVP_MD_CTX_free(copy) }
    unsafe EVP_MD_CTX_copy_ex(copy, context)
    var digest = [UInt8](repeating: 0, count: algorithm.byteCount)
    unsafe EVP_DigestFinal_ex(copy, &digest, nil)
    return digest
  }
}
