/// A word that the database uses, such as a job's state.
///
/// The static members of a conforming type are the words that this program knows. A newer database may send other words. The
/// program can decode and compare such words, and shows them unchanged.
package protocol DatabaseWord: RawRepresentable, Hashable, Sendable, Codable, Comparable,
  CustomStringConvertible
where RawValue == String {
  /// The words that this program knows, in the order in which people see them.
  static var known: [Self] { get }

  init(rawValue: String)
}

extension DatabaseWord {
  package var description: String { rawValue }

  /// Compares two words alphabetically.
  package static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
}
