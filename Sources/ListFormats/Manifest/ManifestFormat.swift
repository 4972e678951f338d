/// A format of a manifest, the list of finished files that a recipient can compare with their copy.
package enum ManifestFormat: String, CaseIterable, Sendable {
  /// The format that `sha256sum -c` reads: a SHA-256, two spaces and a path per line (GNU Coreutils manual, "cksum output
  /// modes").
  case sha256sums
  /// A format with one JSON object per line.
  case jsonl
  /// Comma-separated values with a header (RFC 4180).
  case csv
}

/// A finished file with everything that a manifest says about it.
package struct ManifestEntry: Sendable, Equatable {
  /// The names of the fields in JSON lines and CSV, in their order.
  static let names = [
    "path", "length", "digest", "url", "validator", "finished_at", "store", "job",
  ]

  package var job: Int64
  /// The name of the store of the file.
  package var store: String
  /// The path of the file, relative to the root of the store.
  package var path: String
  package var url: String
  /// The length of the file in bytes; nil if it is not known.
  package var length: Int64?
  /// The digest of the file as `algorithm=digest`; nil if it is not known.
  package var digest: String?
  /// The ETag that the source sent, or else its Last-Modified value; nil if it sent none.
  package var validator: String?
  /// The time when the file was finished, in ISO 8601.
  package var finishedAt: String?

  package init(
    job: Int64, store: String, path: String, url: String, length: Int64?, digest: String?,
    validator: String?, finishedAt: String?
  ) {
    self.job = job
    self.store = store
    self.path = path
    self.url = url
    self.length = length
    self.digest = digest
    self.validator = validator
    self.finishedAt = finishedAt
  }
}
