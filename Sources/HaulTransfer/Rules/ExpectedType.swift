/// A media type that a response must have: `application/zip`, or `video/*` for every subtype.
package struct ExpectedType: Sendable, Hashable, CustomStringConvertible {
  private let type: String
  /// The subtype; nil for every subtype.
  private let subtype: String?

  /// Reads a media type without parameters; nil for any other text.
  package init?(_ text: String) {
    let parts = text.lowercased().split(separator: "/", omittingEmptySubsequences: false)
    guard parts.count == 2,
      parts.allSatisfy({ !$0.isEmpty && $0.utf8.allSatisfy(\.isTokenCharacter) }), parts[0] != "*"
    else { return nil }
    type = String(parts[0])
    subtype = parts[1] == "*" ? nil : String(parts[1])
  }

  package var description: String { "\(type)/\(subtype ?? "*")" }

  /// Returns whether a response of `mediaType` may be the file; false for a response without a type.
  func allows(_ mediaType: String?) -> Bool {
    guard let mediaType else { return false }
    return subtype == nil ? mediaType.hasPrefix("\(type)/") : mediaType == description
  }
}
