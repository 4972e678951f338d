import HaulSystem
internal import HaulTransfer

/// Writes entries as a manifest that a `ManifestReader` can read.
package struct ManifestWriter: Sendable {
  private let format: ManifestFormat

  /// Creates a writer for a format.
  package init(_ format: ManifestFormat) { self.format = format }

  /// The first line of the manifest, with its line ending; empty if the format has none.
  package var heading: String {
    switch format {
    case .sha256sums, .jsonl: ""
    case .csv: CSVLine.of(ManifestEntry.names)
    }
  }

  /// Returns the line of an entry, with its line ending. Returns nil if the format needs a SHA-256 and the entry has none.
  package func line(of entry: ManifestEntry) -> String? {
    switch format {
    case .sha256sums:
      guard let digest = entry.digest.flatMap({ ExpectedDigest(spelled: $0) }),
        digest.algorithm == .sha256
      else { return nil }
      return SumLine.text(digest: digest.hexadecimal, path: entry.path)
    case .jsonl:
      let members = zip(ManifestEntry.names, Self.values(of: entry)).map { name, value in
        "\"\(name)\":\(value.map(Self.json) ?? "null")"
      }
      return "{\(members.joined(separator: ","))}\n"
    case .csv:
      return CSVLine.of(Self.values(of: entry).map { $0.map(Self.plain) ?? "" })
    }
  }

  private enum Value {
    case number(Int64)
    case text(String)
  }

  /// Returns the values of ``ManifestEntry/names``.
  private static func values(of entry: ManifestEntry) -> [Value?] {
    [
      .text(entry.path), entry.length.map { .number($0) }, entry.digest.map { .text($0) },
      .text(entry.url), entry.validator.map { .text($0) }, entry.finishedAt.map { .text($0) },
      .text(entry.store), .number(entry.job),
    ]
  }

  private static func json(_ value: Value) -> String {
    switch value {
    case .number(let number): return "\(number)"
    case .text(let text):
      var bytes: [UInt8] = []
      SafeText.appendJSONString(text, to: &bytes)
      return String(decoding: bytes, as: UTF8.self)
    }
  }

  private static func plain(_ value: Value) -> String {
    switch value {
    case .number(let number): "\(number)"
    case .text(let text): text
    }
  }
}
