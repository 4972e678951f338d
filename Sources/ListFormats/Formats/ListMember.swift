import HaulSystem
import JobModel

/// A column of a table, or a member of a JSON object, that is read into a field.
struct ListMember: Sendable, Equatable {
  let field: ListField
  /// The algorithm for digests that are written without one; nil if there is none.
  let algorithm: String?

  init(_ field: ListField, algorithm: String? = nil) {
    self.field = field
    self.algorithm = algorithm
  }

  /// Creates the member for a field called `name` in the list. For a digest, the name may be an algorithm.
  init(_ field: ListField, called name: String) {
    self.init(
      field, algorithm: field == .option(.digest) ? Self.algorithms[name.lowercased()] : nil)
  }

  /// The digest algorithm for each column name that implies one.
  private static let algorithms = [
    "md5": "md5", "md5sum": "md5", "sha1": "sha-1", "sha-1": "sha-1", "sha256": "sha-256",
    "sha-256": "sha-256", "sha256sum": "sha-256", "sha512": "sha-512", "sha-512": "sha-512",
  ]

  /// Stores a value in the entry. The value must not be empty.
  func put(_ text: String, into entry: inout ListEntry) throws(ListFault) {
    guard field == .option(.digest) else { return try field.put(text, into: &entry) }
    if Self.absent.contains(text.lowercased()) { return }
    entry.options.digest = digest(text)
  }

  /// The values that mean that there is no digest.
  private static let absent: Set = ["-", "na", "n/a", "none", "null"]

  /// Returns `sha256:1f…` or `1f…` in the form that jobs have. Returns other text unchanged.
  private func digest(_ text: String) -> String {
    if let algorithm {
      return text.contains("=") && text.last != "=" ? text : "\(algorithm)=\(text)"
    }
    if let colon = text.firstIndex(of: ":") {
      return "\(text[..<colon])=\(text[text.index(after: colon)...])"
    }
    if !text.utf8.allSatisfy({ Character(Unicode.Scalar($0)).isHexDigit }) { return text }
    let byLength = [32: "md5", 40: "sha-1", 64: "sha-256", 128: "sha-512"]
    return byLength[text.utf8.count].map { "\($0)=\(text)" } ?? text
  }

  /// Returns the member for a column or member with this name, in upper or lower case. Returns nil for a name that is ignored.
  static func known(_ name: String) -> ListMember? {
    let lower = name.lowercased()
    if let field = ListField.named(lower) { return ListMember(field) }
    return algorithms[lower].map { ListMember(.option(.digest), algorithm: $0) }
  }

  /// Returns the member, or nil for an unknown name, like ``known(_:)``. Rejects names that look misspelt.
  ///
  /// - Throws: an error for an unknown name that resembles a field. If the name were ignored, a digest might not be checked.
  static func certain(_ name: String) throws(ListFault) -> ListMember? {
    if let member = known(name) { return member }
    guard let meant = ListField.meant(by: name.lowercased()) else { return nil }
    let shown = SafeText.visible(name)
    let option: String? =
      switch meant {
      case .url: "--url-column"
      case .path: "--name-column"
      case .option(.digest): "--digest-column"
      default: nil
      }
    let way =
      option.map { "Use \($0) '\(shown)' to read this field as \(meant.name)" }
      ?? "To ignore '\(shown)', name the column of the URLs with --url-column"
    throw ListFault("'\(shown)' is not the name of a field. Did you mean '\(meant.name)'? \(way)")
  }
}
