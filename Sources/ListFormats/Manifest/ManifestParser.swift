import FoundationEssentials
package import HaulTransfer

/// A file that a manifest names.
package struct ManifestFile: Sendable, Equatable {
  /// The line of the manifest, counted from 1.
  package let line: Int
  package let path: RelativePath
  /// The length in bytes; nil if the manifest states none. A file without a length has a digest.
  package let length: Int64?
  /// The digest; nil if the manifest states none. A file without a digest has a length.
  package let digest: ExpectedDigest?
}

/// An item that a reader returns for a line of a manifest.
package enum ManifestItem: Sendable, Equatable {
  case file(ManifestFile)
  /// A line that names no file: its number, counted from 1, and the reason. The reason is a clause without its full stop, safe
  /// to print.
  case problem(line: Int, String)
}

/// Parses the lines of a manifest. The first line that is not blank and not a comment determines the format.
struct ManifestParser: Sendable {
  /// The columns of a table.
  private struct Columns {
    let fields: TableFields
    let count: Int
    let path: Int
    let length: Int?
    let digest: Int?
  }

  private enum Form {
    case sums
    case objects
    case table(Columns)
  }

  /// The names that a field may have in JSON lines and tables. The lists of `haul jobs --json` call the length "bytes".
  private static let pathNames = ["path"]
  private static let lengthNames = ["length", "bytes"]
  private static let digestNames = ["digest", "sha256"]
  /// The maximum length in bytes of a record of a table that spans several lines.
  private static let longestRecord = LineSplitter.longestLine

  private var form: Form?
  /// The lines so far of a record of a table with a line ending in a quoted field, and the number of the first.
  private var record: (line: Int, text: String)?

  /// Returns the item that this line completes; nil if it completes none.
  mutating func parse(_ line: ListLine) -> ManifestItem? {
    do throws(ListFault) {
      return try item(try line.text.get(), line.number)
    } catch {
      defer { record = nil }
      return .problem(line: record?.line ?? line.number, error.reason)
    }
  }

  /// Returns the problem of a record that the last line has not completed; nil if there is none.
  mutating func finish() -> ManifestItem? {
    defer { record = nil }
    return record.map { .problem(line: $0.line, "the record has no closing quotation mark") }
  }

  private mutating func item(_ text: String, _ number: Int) throws(ListFault) -> ManifestItem? {
    if record == nil, PlainLines.trimmed(text).isEmpty { return nil }
    guard let form else { return try begin(text, number) }
    switch form {
    case .sums:
      if text.hasPrefix("#") { return nil }
      let sum = try SumLine(text)
      return try file(number, path: sum.path, length: nil, digest: sum.digest)
    case .objects: return try object(text, number)
    case .table(let columns): return try row(text, number, columns)
    }
  }

  /// Parses a line before the format is known.
  private mutating func begin(_ text: String, _ number: Int) throws(ListFault) -> ManifestItem? {
    if text.hasPrefix("#") { return nil }
    if PlainLines.trimmed(text).first == "{" {
      form = .objects
    } else if !SumLine.isOne(text), let columns = Self.columns(text) {
      guard columns.length != nil || columns.digest != nil else {
        throw ListFault("the header needs a column digest or length")
      }
      form = .table(columns)
      return nil
    } else {
      form = .sums
    }
    return try item(text, number)
  }

  private static func columns(_ text: String) -> Columns? {
    let fields = TableFields.shown(by: text, orBlanks: false)
    guard let cells = try? fields.fields(of: text) else { return nil }
    let names = cells.map { PlainLines.trimmed($0).lowercased() }
    func index(_ wanted: [String]) -> Int? { names.firstIndex { wanted.contains($0) } }
    return index(pathNames).map {
      Columns(
        fields: fields, count: cells.count, path: $0, length: index(lengthNames),
        digest: index(digestNames))
    }
  }

  private mutating func row(
    _ text: String, _ number: Int, _ columns: Columns
  ) throws(ListFault) -> ManifestItem? {
    let begun = record ?? (number, "")
    let whole = record == nil ? text : begun.text + "\n" + text
    if whole.utf8.count(where: { $0 == UInt8(ascii: "\"") }) % 2 == 1 {
      record = (begun.line, whole)
      guard whole.utf8.count <= Self.longestRecord else {
        throw ListFault("the record has no closing quotation mark within 64 KiB")
      }
      return nil
    }
    record = (begun.line, whole)
    let cells = try columns.fields.fields(of: whole)
    guard cells.count == columns.count else {
      throw ListFault(
        "the line has \(cells.count) \(cells.count == 1 ? "field" : "fields"), but the header has \(columns.count)"
      )
    }
    let item = try file(
      begun.line, path: cells[columns.path], length: columns.length.map { cells[$0] },
      digest: columns.digest.map { cells[$0] })
    record = nil
    return item
  }

  private func object(_ text: String, _ number: Int) throws(ListFault) -> ManifestItem? {
    guard let object = try? JSONDecoder().decode(JSONObject.self, from: Data(text.utf8)) else {
      throw ListFault("the line is not a JSON object")
    }
    func value(_ names: [String]) throws(ListFault) -> String? {
      for member in object.members where names.contains(member.name) {
        switch member.value {
        case .text(let text): return text
        case .null: break
        case .texts, .list, .other: throw ListFault("the value of \(member.name) is not valid")
        }
      }
      return nil
    }
    guard let path = try value(Self.pathNames) else { throw ListFault("the object has no path") }
    return try file(
      number, path: path, length: try value(Self.lengthNames),
      digest: try value(Self.digestNames))
  }

  /// Returns the file for texts. An empty length or digest counts as unknown.
  private func file(
    _ line: Int, path: String, length: String?, digest: String?
  ) throws(ListFault) -> ManifestItem {
    var bytes: Int64?
    if let length, !length.isEmpty {
      guard let number = Int64(length), number >= 0 else {
        throw ListFault("the length is not a whole number of bytes")
      }
      bytes = number
    }
    var expected: ExpectedDigest?
    if let digest, !digest.isEmpty {
      do throws(TransferError) {
        expected = try ExpectedDigest(digest)
      } catch {
        throw ListFault(error.message)
      }
    }
    return try file(line, path: path, length: bytes, digest: expected)
  }

  private func file(
    _ line: Int, path: String, length: Int64?, digest: ExpectedDigest?
  ) throws(ListFault) -> ManifestItem {
    guard length != nil || digest != nil else {
      throw ListFault("the line has no digest and no length")
    }
    do throws(RelativePath.Invalid) {
      return .file(
        ManifestFile(
          line: line, path: try RelativePath(ofForeignFile: path), length: length, digest: digest))
    } catch {
      throw ListFault("\(error)")
    }
  }
}
