/// Distinguishes a list from other kinds of files by its first bytes.
enum TextCheck {
  /// The number of bytes to check.
  private static let reach = 8 << 10

  /// The first bytes of other kinds of files, with a clause that names the kind.
  private static let kinds: [(magic: [UInt8], clause: String)] = [
    ([0x1f, 0x8b], "the input is compressed with gzip. Unpack it first"),
    ([0xfd, 0x37, 0x7a, 0x58, 0x5a, 0x00], "the input is compressed with xz. Unpack it first"),
    ([0x28, 0xb5, 0x2f, 0xfd], "the input is compressed with zstd. Unpack it first"),
    (Array("BZh91AY&SY".utf8), "the input is compressed with bzip2. Unpack it first"),
    (
      [0x50, 0x4b, 0x03, 0x04],
      "the input is a ZIP archive or a spreadsheet. Unpack it, or save the spreadsheet as CSV"
    ),
    ([0xff, 0xfe], utf16), ([0xfe, 0xff], utf16),
    (
      Array("version https://git-lfs.github.com/spec/".utf8),
      "the input is only a pointer to a file in Git LFS. Run 'git lfs pull' to get the file"
    ),
    (
      Array("%PDF-".utf8),
      "the input is a PDF document. Convert it with pdftotext, then use --extract"
    ),
  ]
  private static let utf16 =
    "the input is text in UTF-16. Convert it to UTF-8 first: iconv -f UTF-16 -t UTF-8"

  private static let metalink =
    "the input is a Metalink document, which Haul does not read. Use aria2c -M, or give Haul a list with one URL for each file"

  /// Returns the reason why a file that begins with `bytes` is not a list, as a clause without its full stop. Returns nil if it
  /// may be a list.
  ///
  /// A file is not a list if it has a NUL byte, or if more than a third of its bytes are not printable UTF-8. A smaller share
  /// is accepted: a line in Latin-1 is one invalid line of a list, and the first read of a pipe may end within a character.
  static func fault(of bytes: [UInt8]) -> String? {
    let beginning = bytes.prefix(reach)
    if let kind = kinds.first(where: { beginning.starts(with: $0.magic) }) { return kind.clause }
    if String(decoding: beginning.prefix(1 << 10), as: UTF8.self).contains("<metalink") {
      return metalink
    }
    if let nul = beginning.firstIndex(of: 0) {
      let line = beginning[..<nul].count { $0 == UInt8(ascii: "\n") } + 1
      return "the input is not text: line \(line) has a NUL byte"
    }
    let scalars = String(decoding: beginning, as: UTF8.self).unicodeScalars
    let odd = scalars.count {
      $0 == "\u{fffd}" || ($0.value < 0x20 && !"\t\n\r".unicodeScalars.contains($0))
    }
    return odd > 1 && odd * 3 > scalars.count ? "the input is not text in UTF-8" : nil
  }
}
