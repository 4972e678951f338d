import Glibc

/// Endless content that is computed, not stored: the same seed gives the same bytes at the same offset.
///
/// Every 256 bytes begin with their own number, so bytes at a wrong place differ from those that
/// belong there; the rest repeats a table drawn from the seed, so that large content costs a copy.
package struct Pattern: Sendable, Hashable {
  package let seed: UInt64
  private let table: [UInt8]

  private static let record: Int64 = 256
  private static let tableSize = 4096

  package init(seed: UInt64) {
    self.seed = seed
    var state = seed
    table = (0..<Self.tableSize).map { _ in UInt8(truncatingIfNeeded: Self.next(&state)) }
  }

  /// The bytes at the offsets of `range`.
  package func bytes(in range: Range<Int64>) -> [UInt8] {
    guard !range.isEmpty else { return [] }
    let size = Int64(Self.tableSize)
    let start = range.lowerBound / size * size
    let end = (range.upperBound + size - 1) / size * size
    var bytes: [UInt8] = []
    bytes.reserveCapacity(Int(end - start))
    for _ in 0..<((end - start) / size) { bytes.append(contentsOf: table) }
    bytes.withUnsafeMutableBytes { raw in
      for position in stride(from: 0, to: end - start, by: Int(Self.record)) {
        let number = UInt64((start + position) / Self.record) ^ seed
        raw.storeBytes(of: number.bigEndian, toByteOffset: Int(position), as: UInt64.self)
      }
    }
    if start == range.lowerBound && end == range.upperBound { return bytes }
    return Array(bytes[Int(range.lowerBound - start)..<Int(range.upperBound - start)])
  }

  /// Where the first byte of `bytes` differs from this content at `offset`; nil when all are equal.
  package func firstDifference(of bytes: [UInt8], at offset: Int64) -> Int64? {
    let expected = self.bytes(in: offset..<offset + Int64(bytes.count))
    // Faster than == without optimization.
    if memcmp(expected, bytes, bytes.count) == 0 { return nil }
    return zip(expected, bytes).enumerated().first { $1.0 != $1.1 }.map {
      offset + Int64($0.offset)
    }
  }

  /// Splitmix64 (Steele, Lea, Flood 2014).
  private static func next(_ state: inout UInt64) -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var mixed = state
    mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
    return mixed ^ (mixed >> 31)
  }
}
