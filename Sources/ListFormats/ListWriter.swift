import FoundationEssentials
internal import HaulTransfer
import JobModel

/// Writes entries as a list that a `ListReader` can read. JSON lines and CSV keep all fields of an entry. Other formats keep
/// only the fields that they support.
package struct ListWriter: Sendable {
  private let format: ListFormat

  /// Creates a writer for a format.
  package init(_ format: ListFormat) { self.format = format }

  /// The first line of the list, with its line ending; empty if the format has none.
  package var heading: String {
    switch format {
    case .plain, .aria2, .jsonl: ""
    case .tsv: "\(TSVLines.heading)\n"
    case .csv: ListField.names.joined(separator: ",") + "\n"
    }
  }

  /// Returns the lines of an entry, each with its line ending.
  package func lines(of entry: ListEntry) -> String {
    switch format {
    case .plain: "\(entry.url)\n"
    case .aria2:
      ([entry.url] + (entry.options.mirrors ?? [])).joined(separator: "\t") + "\n"
        + option("out", entry.path) + option("checksum", entry.options.digest)
        + (entry.options.headers ?? []).map { option("header", $0) }.joined()
    case .tsv:
      "\(entry.url)\t\(entry.options.length.map(String.init) ?? "")\t\(Self.md5(entry.options.digest) ?? "")\n"
    case .jsonl:
      "{"
        + ListField.allCases.compactMap { field in
          field.value(in: entry).map { "\"\(field.name)\":\(Self.json($0))" }
        }.joined(separator: ",") + "}\n"
    case .csv:
      ListField.allCases.map { CSVLine.field($0.value(in: entry)?.written ?? "") }
        .joined(separator: ",") + "\n"
    }
  }

  private func option(_ name: String, _ value: String?) -> String {
    value.map { "  \(name)=\($0)\n" } ?? ""
  }

  /// Returns an MD5 digest in base64, or nil for any other digest.
  private static func md5(_ digest: String?) -> String? {
    guard let digest = digest.flatMap({ ExpectedDigest(spelled: $0) }), digest.algorithm == .md5
    else {
      return nil
    }
    return Data(digest.bytes).base64EncodedString()
  }

  private static func json(_ value: JobOption.Value) -> String {
    switch value {
    case .number, .flag: value.written
    case .text(let text): quoted(text)
    case .texts(let texts): "[\(texts.map(quoted).joined(separator: ","))]"
    }
  }

  private static func quoted(_ text: String) -> String {
    var written = "\""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "\"": written += "\\\""
      case "\\": written += "\\\\"
      case "\u{0}"..."\u{1f}", "\u{7f}":
        let digits = String(scalar.value, radix: 16)
        written += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
      default: written.unicodeScalars.append(scalar)
      }
    }
    return written + "\""
  }
}
