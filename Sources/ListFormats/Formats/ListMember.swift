import HaulSystem
import JobModel

/// A column of a table, or a member of a JSON object, that is read.
struct ListMember: Sendable, Equatable {
  let field: ListField
  /// The algorithm of a digest that comes without its name.
  let algorithm: String?

  init(_ field: ListField, algorithm: String? = nil) {
    self.field = field
    self.algorithm = algorithm
  }

  /// A field under this name, which may say the algorithm of a digest.
  init(_ field: ListField, called name: String) {
    self.init(
      field, algorithm: field == .option(.digest) ? Self.algorithms[name.lowercased()] : nil)
  }

  /// What lists call columns that hold digests of one algorithm.
  private static let algorithms = [
    "md5": "md5", "md5sum": "md5", "sha1": "sha-1", "sha-1": "sha-1", "sha256": "sha-256",
    "sha-256": "sha-256", "sha256sum": "sha-256", "sha512": "sha-512", "sha-512": "sha-512",
  ]

  /// Puts a value that is not empty where it belongs.
  func put(_ text: String, into entry: inout ListEntry) throws(ListFault) {
    guard field == .option(.digest) else { return try field.put(text, into: &entry) }
    if Self.absent.contains(text.lowercased()) { return }
    entry.options.digest = digest(text)
  }

  /// What says that there is no digest.
  private static let absent: Set = ["-", "na", "n/a", "none", "null"]

  /// `sha256:1f…` or `1f…` in the form that jobs have; any other text as it is.
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

  /// What a column or member of this name holds, in any case of letters; nil for one that means nothing here.
  static func known(_ name: String) -> ListMember? {
    let lower = name.lowercased()
    if let field = ListField.named(lower) { return ListMember(field) }
    return algorithms[lower].map { ListMember(.option(.digest), algorithm: $0) }
  }

  /// As ``known(_:)``.
  ///
  /// - Throws: for a name that may be meant for a field and is none: left out, a digest would not be checked.
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
      option.map { "Use \($0) '\(shown)' to read it as that" }
      ?? "Use --url-column to ignore it"
    throw ListFault("'\(shown)' is not the name of a field. Did you mean '\(meant.name)'? \(way)")
  }
}
