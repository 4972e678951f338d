/// An amount of data in bytes, at least 0. As text, it is a number with a unit, such as `64MiB` or `64M` (powers of 1024) or
/// `1GB` (powers of 1000), or a plain number of bytes.
///
/// Case does not matter. `K`, `M`, `G` and `T` alone are powers of 1024, as in curl, wget, aria2 and rclone.
package struct ByteCount: OptionValue, Hashable, Comparable {
  /// The number of bytes.
  package var bytes: Int64

  /// Creates an amount from a number of bytes.
  package init(bytes: Int64) { self.bytes = bytes }

  package static var expected: String { "a size such as 64MiB or 1GB" }

  /// The units, largest first.
  private static let units: [(name: String, bytes: Int64)] = [
    ("TiB", 1 << 40), ("TB", 1_000_000_000_000), ("GiB", 1 << 30), ("GB", 1_000_000_000),
    ("MiB", 1 << 20), ("MB", 1_000_000), ("KiB", 1 << 10), ("kB", 1000), ("B", 1),
  ]

  package init?(argument: String) {
    var rest = argument[...]
    guard let number = rest.takeDigits() else { return nil }
    let name = rest.isEmpty ? "b" : rest.lowercased()
    guard let unit = Self.units.first(where: { Self.spellings(of: $0.name).contains(name) })
    else { return nil }
    let (product, overflow) = number.multipliedReportingOverflow(by: unit.bytes)
    if overflow { return nil }
    bytes = product
  }

  /// Returns the spellings of a unit that users type, in lower case.
  private static func spellings(of unit: String) -> [String] {
    let name = unit.lowercased()
    return name.hasSuffix("ib") ? [name, String(name.prefix(2)), String(name.prefix(1))] : [name]
  }

  /// The amount as text, in the largest unit that expresses it exactly.
  package var argument: String {
    let exact = Self.units.first { $0.bytes > 1 && bytes > 0 && bytes % $0.bytes == 0 }
    guard let exact else { return String(bytes) }
    return "\(bytes / exact.bytes)\(exact.name)"
  }

  package static func < (left: ByteCount, right: ByteCount) -> Bool { left.bytes < right.bytes }
}
