import Foundation
import HaulTransfer
import Testing

@testable import ListFormats

/// Manifests: what is written, what is read, and that both agree.
struct ManifestTests {
  private static let hex = String(repeating: "0f", count: 32)
  static let names = [
    "plain", "with space", "a/b\\c", "line\nend", "return\rhere", "quote\"d", "com,ma",
    "semi;colon",
    "ünï/çødé", "-", " first", "last ", "#comment", "\u{301}accent", "{", "\\", "a  b *c",
  ]

  private func entry(_ path: String) -> ManifestEntry {
    ManifestEntry(
      job: 7, store: "films", path: path, url: "https://h/?a=1,\"2\"", length: 5,
      digest: "sha-256=\(Self.hex)", validator: "\"v\"", finishedAt: "2026-11-30T09:00:00+00:00")
  }

  private func read(_ text: String) -> [ManifestItem] {
    var (lines, parser) = (LineSplitter(), ManifestParser())
    lines.append(Array(text.utf8))
    lines.end()
    var items: [ManifestItem] = []
    while let line = lines.next() { if let item = parser.parse(line) { items.append(item) } }
    if let item = parser.finish() { items.append(item) }
    return items
  }

  /// Returns the paths, lengths and digests of a manifest, or its problems.
  private func shown(_ text: String) -> [String] {
    read(text).map { item in
      switch item {
      case .file(let file):
        "\(file.path) \(file.length.map(String.init) ?? "-") \(file.digest?.description ?? "-")"
      case .problem(let line, let reason): "\(line): \(reason)"
      }
    }
  }

  @Test(arguments: ManifestFormat.allCases)
  func `every name is read as it was written`(format: ManifestFormat) {
    let writer = ManifestWriter(format)
    let text = writer.heading + Self.names.compactMap { writer.line(of: entry($0)) }.joined()
    let paths = read(text).map { item in
      if case .file(let file) = item { file.path.description } else { "\(item)" }
    }
    #expect(paths == Self.names)
  }

  @Test func `each format has its form`() {
    #expect(
      ManifestWriter(.sha256sums).line(of: entry("a/b\\c\n")) == "\\\(Self.hex)  a/b\\\\c\\n\n")
    #expect(ManifestWriter(.sha256sums).line(of: entry("-")) == "\(Self.hex)  ./-\n")
    #expect(
      ManifestWriter(.jsonl).line(of: entry("a\"b"))
        == #"{"path":"a\"b","length":5,"digest":"sha-256=\#(Self.hex)","url":"https://h/?a=1,\"2\"","validator":"\"v\"","finished_at":"2026-11-30T09:00:00+00:00","store":"films","job":7}"#
        + "\n")
    #expect(
      ManifestWriter(.csv).heading
        == "path,length,digest,url,validator,finished_at,store,job\r\n")
    #expect(
      ManifestWriter(.csv).line(of: entry("a,b"))
        == "\"a,b\",5,sha-256=\(Self.hex),\"https://h/?a=1,\"\"2\"\"\",\"\"\"v\"\"\",2026-11-30T09:00:00+00:00,films,7\r\n"
    )
  }

  @Test func `unknown values are empty, and no SHA-256 means no line of checksums`() {
    var unknown = entry("a")
    (unknown.length, unknown.validator, unknown.digest) = (nil, nil, "md5=\(Self.hex.prefix(32))")
    #expect(ManifestWriter(.sha256sums).line(of: unknown) == nil)
    let object = ManifestWriter(.jsonl).line(of: unknown)
    #expect(object?.contains("\"length\":null,\"digest\":\"md5=") == true)
    #expect(ManifestWriter(.csv).line(of: unknown)?.hasPrefix("a,,md5=") == true)
  }

  @Test func `checksums of other programs are read`() {
    let sha512 = String(repeating: "ab", count: 64)
    #expect(
      shown(
        """
        # made by hand
        \(Self.hex.uppercased()) *./dir/a b\r

        SHA512 (b (1).iso) = \(sha512)
        MD5 (c) = \(Self.hex.prefix(32))
        \\SHA256 (d\\\\e) = \(Self.hex)
        """) == [
          "dir/a b - sha-256=\(Self.hex)", "b (1).iso - sha-512=\(sha512)",
          "c - md5=\(Self.hex.prefix(32))", "d\\e - sha-256=\(Self.hex)",
        ])
    #expect(
      shown("name;path;bytes;sha256\nx;\"a;b\";3;\(Self.hex)\n") == ["a;b 3 sha-256=\(Self.hex)"])
    #expect(shown("{\"job\":1,\"path\":\"a\",\"bytes\":3,\"digest\":null}\n") == ["a 3 -"])
  }

  @Test func `a wrong line has one sentence with its number, and the rest is read`() {
    let form = "the line is not a checksum, two spaces and a path, as sha256sum writes them"
    let right = "\(Self.hex)  a"
    #expect(
      shown(
        """
        \(right)
        \(Self.hex) a
        \(Self.hex)  /etc/passwd
        \(Self.hex)  a/../../b
        \(Self.hex)  a//b
        \(Self.hex.dropLast())  a
        \\\(Self.hex)  a\\t
        \(Self.hex)  
        SHA256 (a) = \(Self.hex.prefix(40))
        \(right)
        """) == [
          "a - sha-256=\(Self.hex)", "2: \(form)", "3: the path begins with '/'",
          "4: a component of the path is '.' or '..'",
          "5: the path contains '//' or ends in '/'", "6: \(form)",
          "7: a backslash of the path is not followed by \\, n or r", "8: \(form)", "9: \(form)",
          "a - sha-256=\(Self.hex)",
        ])
    #expect(
      shown("path,length,digest\na,x,\nb,1\nc,,\nd,-1,\ne,1,sha-256=0\n\"f,1,\n").map {
        String($0.prefix(60))
      } == [
        "2: the length is not a whole number of bytes",
        "3: the line has 2 fields, but the header has 3",
        "4: the line has no digest and no length",
        "5: the length is not a whole number of bytes",
        "6: 'sha-256=0' is not a digest: write it as sha-256=HEX, or ",
        "7: the record has no closing quotation mark",
      ])
    #expect(
      shown("{\"path\":\"a\",\"length\":1}\n{\"length\":1}\n[1]\n{\"path\":[\"a\"]}\n") == [
        "a 1 -", "2: the object has no path", "3: the line is not a JSON object",
        "4: the value of path is not valid",
      ])
    #expect(
      shown("path,url\na,b\n").first
        == "1: the header needs a column digest or length")
  }

  @Test func `a quoted field may have a line ending, and later lines keep their numbers`() {
    #expect(
      shown("path,length\r\n\"a\nb\",1\r\n/c,1\r\nd,2") == [
        "a\nb 1 -", "4: the path begins with '/'", "d 2 -",
      ])
  }
}
