import Testing

@testable import ListFormats

/// What tells a list from a file that was never text.
struct TextCheckTests {
  @Test(
    arguments: [
      (Array("http://h/a\nhttp://h/\0b\n".utf8), "the input is not text: line 2 has a NUL byte"),
      (Array("\u{7f}ELF\u{2}\u{1}\0\0".utf8), "the input is not text: line 1 has a NUL byte"),
      ([UInt8](0x80...0xff) + [10] + [UInt8](0x80...0xff), "the input is not text in UTF-8"),
      (
        Array("version https://git-lfs.github.com/spec/v1\n".utf8),
        "the input is only a pointer to a file in Git LFS. Run 'git lfs pull' to get the file"
      ),
      ([0x1f, 0x8b, 8, 0], "the input is compressed with gzip. Unpack it first"),
      (
        [0xfd, 0x37, 0x7a, 0x58, 0x5a, 0, 0], "the input is compressed with xz. Unpack it first"
      ),
      ([0x28, 0xb5, 0x2f, 0xfd, 4], "the input is compressed with zstd. Unpack it first"),
      (Array("BZh91AY&SY".utf8) + [0xde], "the input is compressed with bzip2. Unpack it first"),
      (
        [0x50, 0x4b, 3, 4, 20, 0],
        "the input is a ZIP archive or a spreadsheet. Unpack it, or save the spreadsheet as CSV"
      ),
      (
        Array("%PDF-1.7".utf8),
        "the input is a PDF document. Convert it with pdftotext, then use --extract"
      ),
      (
        Array("<?xml version=\"1.0\"?>\n<metalink xmlns=\"urn:ietf:params:xml:ns:metalink\">".utf8),
        "the input is a Metalink document, which Haul does not read. Use aria2c -M, or give Haul a list with one URL for each file"
      ),
      (
        [0xff, 0xfe, 0x68, 0],
        "the input is text in UTF-16. Convert it to UTF-8 first: iconv -f UTF-16 -t UTF-8"
      ),
      (
        [0xfe, 0xff, 0, 0x68],
        "the input is text in UTF-16. Convert it to UTF-8 first: iconv -f UTF-16 -t UTF-8"
      ),
    ] as [([UInt8], String)])
  func `what is no text is known by how it begins`(bytes: [UInt8], clause: String) {
    #expect(TextCheck.fault(of: bytes) == clause)
  }

  /// Nothing; Latin-1, and a single letter of it; a NUL byte far behind.
  @Test(arguments: [
    [], Array("http://h/a\nhttp://h/".utf8) + [0xe4], [0xe4],
    Array(String(repeating: "http://h/a\n", count: 1000).utf8) + [0],
  ])
  func `a wrong line of what is text is told by itself`(bytes: [UInt8]) {
    #expect(TextCheck.fault(of: bytes) == nil)
  }
}
