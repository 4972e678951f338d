/// An amount of data in bytes, at least 0: `64MiB` (powers of 1024), `1GB` (powers of 1000), or a
/// plain number. Units are read without regard to case; `K`, `M`, `G` alone are refused because
/// programs disagree about them.
package struct ByteCount: OptionValue, Hashable, Comparable {
  /// The amount.
  package var bytes: Int64

  /// An amount in bytes.
  package init(bytes: Int64) { self.bytes = bytes }

  package static var expected: String { "a size such as 64MiB or 1GB" }

  /// Largest first.
  private static let units: [(name: String, bytes: Int64)] = [
    ("TiB", 1 << 40), ("TB", 1_000_000_000_000), ("GiB", 1 << 30), ("GB", 1_000_000_000),
    ("MiB", 1 << 20), ("MB", 1_000_000), ("KiB", 1 << 10), ("kB", 1000), ("B", 1),
  ]

  package init?(argument: String) {
    var rest = argument[...]
    guard let number = rest.takeDigits() else { return nil }
    let name = rest.isEmpty ? "b" : rest.lowercased()
    guard let unit = Self.units.first(where: { $0.name.lowercased() == name }) else { return nil }
    let (product, overflow) = number.multipliedReportingOverflow(by: unit.bytes)
    if overflow { return nil }
    bytes = product
  }

  /// In the largest unit that says it exactly.
  package var argument: String {
    let exact = Self.units.first { $0.bytes > 1 && bytes > 0 && bytes % $0.bytes == 0 }
    guard let exact else { return String(bytes) }
    return "\(bytes / exact.bytes)\(exact.name)"
  }

  package static func < (left: ByteCount, right: ByteCount) -> Bool { left.bytes < right.bytes }
}
