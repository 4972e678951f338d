/// The rules for names of credentials. A job names the credential that it needs.
package enum CredentialName {
  /// Returns whether `name` is a valid credential name: 1 to 63 characters, each a letter, a digit, `.`, `_` or `-`. The first
  /// character must be a letter or a digit. A valid name is also a plain file name.
  package static func isOne(_ name: String) -> Bool {
    (1...63).contains(name.utf8.count) && name.utf8.first.map(isWord) == true
      && name.utf8.allSatisfy { isWord($0) || "._-".utf8.contains($0) }
  }

  private static func isWord(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"):
      true
    default: false
    }
  }
}
