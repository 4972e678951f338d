/// A set of byte offsets, as sorted half-open ranges with gaps between them.
///
/// The text form is a literal of PostgreSQL's `int8multirange`, such as `{[0,4096),[8192,9000)}`. `Codable` uses that text too.
package struct ByteRanges: Sendable, Hashable {
  /// The ranges in ascending order. None is empty, and there is a gap between any two.
  package private(set) var ranges: [Range<Int64>] = []

  /// Creates the empty set.
  package init() {}

  /// Creates a set of one range, or the empty set if `range` is empty.
  package init(_ range: Range<Int64>) {
    insert(range)
  }

  /// Whether no offset is in the set.
  package var isEmpty: Bool { ranges.isEmpty }

  /// The number of offsets in the set.
  package var count: Int64 { ranges.reduce(0) { $0 + $1.upperBound - $1.lowerBound } }

  /// The offset after the last offset in the set; 0 for the empty set.
  package var end: Int64 { ranges.last?.upperBound ?? 0 }

  /// The end of the gapless range of offsets that starts at 0; 0 if offset 0 is not in the set.
  package var prefixEnd: Int64 {
    guard let first = ranges.first, first.lowerBound == 0 else { return 0 }
    return first.upperBound
  }

  /// Adds every offset of `range`, and joins ranges that touch.
  ///
  /// - Precondition: `range` starts at 0 or later.
  package mutating func insert(_ range: Range<Int64>) {
    precondition(range.lowerBound >= 0, "an offset must not be negative")
    guard !range.isEmpty else { return }
    let low = ranges.firstIndex { $0.upperBound >= range.lowerBound } ?? ranges.endIndex
    let high = ranges[low...].firstIndex { $0.lowerBound > range.upperBound } ?? ranges.endIndex
    var joined = range
    if low < high {
      joined =
        min(
          range.lowerBound, ranges[low].lowerBound)..<max(
          range.upperBound, ranges[high - 1].upperBound)
    }
    ranges.replaceSubrange(low..<high, with: CollectionOfOne(joined))
  }

  /// Adds every offset of `other`.
  package mutating func formUnion(_ other: ByteRanges) {
    for range in other.ranges { insert(range) }
  }

  /// Whether every offset of `range` is in the set; true for an empty range.
  package func contains(_ range: Range<Int64>) -> Bool {
    range.isEmpty
      || ranges.contains {
        $0.lowerBound <= range.lowerBound && range.upperBound <= $0.upperBound
      }
  }

  /// Returns the offsets of `0..<length` that are not in the set, in ascending order.
  package func missing(within length: Int64) -> [Range<Int64>] {
    var gaps: [Range<Int64>] = []
    var position: Int64 = 0
    for range in ranges where position < length {
      let gapEnd = min(range.lowerBound, length)
      if position < gapEnd { gaps.append(position..<gapEnd) }
      position = range.upperBound
    }
    if position < length { gaps.append(position..<length) }
    return gaps
  }
}

extension ByteRanges: LosslessStringConvertible, Codable {
  /// The set as an `int8multirange` literal.
  package var description: String {
    "{" + ranges.map { "[\($0.lowerBound),\($0.upperBound))" }.joined(separator: ",") + "}"
  }

  /// Reads the text form that `description` and PostgreSQL write: finite ranges `[a,b)` of offsets from 0, without spaces.
  /// Ranges may be unsorted, overlap or touch. Returns nil for any other text, and if a range is empty.
  package init?(_ text: String) {
    var scanner = TextScanner(text)
    guard scanner.take("{") else { return nil }
    if scanner.take("}") {
      guard scanner.atEnd else { return nil }
      return
    }
    repeat {
      guard scanner.take("["), let start = scanner.integer(), scanner.take(","),
        let end = scanner.integer(), scanner.take(")"), start < end
      else { return nil }
      insert(start..<end)
    } while scanner.take(",")
    guard scanner.take("}"), scanner.atEnd else { return nil }
  }

  /// Decodes the set from its text form.
  package init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    guard let ranges = ByteRanges(try container.decode(String.self)) else {
      throw DecodingError.dataCorruptedError(
        in: container, debugDescription: "the text is not a set of byte ranges")
    }
    self = ranges
  }

  /// Encodes the set in its text form.
  package func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(description)
  }
}
