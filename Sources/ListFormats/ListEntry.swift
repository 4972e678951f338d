/// One job as a list names it; everything but the URL is optional in every format.
package struct ListEntry: Sendable, Equatable {
  /// Where the entry starts in its list, counted from 1.
  package var line: Int
  /// As written, not checked.
  package var url: String
  /// Where the file goes below the store, as written, not checked; nil for `DefaultPath`.
  package var path: String?
  /// The digest of the whole representation, `sha-256=…` in the spelling of RFC 9530.
  package var digest: String?
  /// The complete length in bytes.
  package var length: Int64?

  /// An entry with what its format says of it.
  package init(
    line: Int, url: String, path: String? = nil, digest: String? = nil, length: Int64? = nil
  ) {
    self.line = line
    self.url = url
    self.path = path
    self.digest = digest
    self.length = length
  }
}
