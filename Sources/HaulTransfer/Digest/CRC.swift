/// A cyclic redundancy check that is being computed. Its bits are reflected, its initial value is all ones, and its result is
/// inverted.
///
/// A step processes eight bytes. The entry `256 * k + b` of the table is the check of the byte `b` followed by `k` zero bytes.
struct CRC: Sendable {
  /// The lookup table of a polynomial.
  struct Table: Sendable {
    /// The CRC-32 of zlib and Ethernet.
    static let crc32 = Table(0xEDB8_8320, byteCount: 4)
    /// CRC-32C, with Castagnoli's polynomial (RFC 9260 appendix A).
    static let crc32c = Table(0x82F6_3B78, byteCount: 4)
    /// The 64-bit CRC of the NVM Express specification.
    static let crc64nvme = Table(0x9A6C_9329_AC4B_C9B5, byteCount: 8)

    fileprivate let entries: [UInt64]
    let byteCount: Int

    private init(_ polynomial: UInt64, byteCount: Int) {
      var entries = (0..<256).map { byte in
        (0..<8).reduce(UInt64(byte)) { value, _ in
          value & 1 == 0 ? value >> 1 : value >> 1 ^ polynomial
        }
      }
      for index in 256..<2048 {
        let before = entries[index - 256]
        entries.append(before >> 8 ^ entries[Int(before & 255)])
      }
      self.entries = entries
      self.byteCount = byteCount
    }

    /// A value with all bits set.
    fileprivate var ones: UInt64 { .max >> (64 - 8 * byteCount) }
  }

  private let table: Table
  private var value: UInt64

  /// Starts with an empty message.
  init(_ table: Table) {
    self.table = table
    value = table.ones
  }

  /// Adds `bytes` to the message.
  mutating func update(_ bytes: UnsafeRawBufferPointer) {
    let entries = table.entries
    var value = value
    var offset = 0
    while bytes.count - offset >= 8 {
      let next = unsafe bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self)
      var word = value ^ UInt64(littleEndian: next)
      value = 0
      for step in stride(from: 1792, through: 0, by: -256) {
        value ^= entries[step + Int(word & 255)]
        word >>= 8
      }
      offset += 8
    }
    for index in offset..<bytes.count {
      let byte = unsafe bytes[index]
      value = value >> 8 ^ entries[Int(UInt8(truncatingIfNeeded: value) ^ byte)]
    }
    self.value = value
  }

  /// Returns the check of the message so far, most significant byte first.
  func finish() -> [UInt8] {
    let bits = value ^ table.ones
    return (1...table.byteCount).map {
      UInt8(truncatingIfNeeded: bits >> (8 * (table.byteCount - $0)))
    }
  }
}
