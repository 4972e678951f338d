import Foundation
import Testing

@testable import ListFormats

/// All entries of a list whose bytes arrive in pieces of `size`.
private func entries(_ bytes: [UInt8], piece size: Int) throws -> [ListEntry] {
  var splitter = LineSplitter()
  var parser: any ListParser = ListFormat.lines.makeParser()
  var entries: [ListEntry] = []
  func take() throws {
    while let line = try splitter.next() {
      if let entry = try parser.parse(line) { entries.append(entry) }
    }
  }
  for start in stride(from: 0, to: bytes.count, by: size) {
    splitter.append(Array(bytes[start..<min(start + size, bytes.count)]))
    try take()
  }
  splitter.end()
  try take()
  return entries
}

private func withList<Result>(
  _ bytes: [UInt8], _ body: (ListSource) async throws -> Result
) async throws -> Result {
  let url = FileManager.default.temporaryDirectory.appending(path: "list-\(UUID())")
  try Data(bytes).write(to: url)
  defer { try? FileManager.default.removeItem(at: url) }
  return try await body(.file(url.path))
}

struct ListTests {
  @Test(arguments: [1, 2, 3, 7, 1000])
  func `a list is lines of URLs, however its bytes arrive`(piece: Int) throws {
    let text = "\u{feff}# films\r\nhttp://h/a\r\n\n  \t\n \thttp://h/ö \t\r\n#x\nhttp://h/last"
    #expect(
      try entries(Array(text.utf8), piece: piece) == [
        ListEntry(line: 2, url: "http://h/a"), ListEntry(line: 5, url: "http://h/ö"),
        ListEntry(line: 7, url: "http://h/last"),
      ])
  }

  @Test(arguments: ["", "\n\n", "# only\n"])
  func `a list may be empty`(text: String) throws {
    #expect(try entries(Array(text.utf8), piece: 5).isEmpty)
  }

  @Test(arguments: ["\n", "\r\n", ""])
  func `a line of 64 KiB is the longest`(end: String) throws {
    let line = [UInt8](repeating: UInt8(ascii: "a"), count: 64 << 10)
    let first = Array("x\n".utf8)
    #expect(try entries(first + line + Array(end.utf8), piece: 5000).count == 2)
    #expect(throws: ListError.lineTooLong(line: 2)) {
      try entries(first + line + [97] + Array(end.utf8), piece: 5000)
    }
    #expect("\(ListError.lineTooLong(line: 2))" == "line 2 is longer than 64 KiB")
  }

  @Test(arguments: [[0xff], [0xc3], [0xed, 0xa0, 0x80], [0xc0, 0xaf]] as [[UInt8]])
  func `a line that is not UTF-8 is told by its number`(bytes: [UInt8]) {
    #expect(throws: ListError.notUTF8(line: 3)) {
      try entries(Array("a\nb\n".utf8) + bytes + [10], piece: 4)
    }
  }

  @Test func `a file is read to its end in pieces`() async throws {
    let count = 40_000
    let text = (1...count).map { "http://example.org/\($0)\n" }.joined()
    try await withList(Array(text.utf8)) { source in
      var read = 0
      for try await entry in ListReader(source) {
        read += 1
        #expect(entry.line == read && entry.url == "http://example.org/\(read)")
      }
      #expect(read == count)
    }
  }

  @Test func `entries of a pipe arrive while its writer goes on`() async throws {
    let path = FileManager.default.temporaryDirectory.appending(path: "fifo-\(UUID())").path
    try #require(mkfifo(path, 0o600) == 0)
    defer { unlink(path) }
    // Opened for reading too, so that opening does not wait for the reader.
    let writer = open(path, O_RDWR)
    defer { close(writer) }
    var iterator = ListReader(.file(path)).makeAsyncIterator()
    for (line, text) in ["http://h/1\n", "http://h/2\nhttp", "://h/3\n"].enumerated() {
      try #require(write(writer, text, text.utf8.count) == text.utf8.count)
      #expect(try await iterator.next()?.url == "http://h/\(line + 1)")
    }
  }

  @Test func `a list that cannot be read is an error`() async {
    await #expect(throws: ListError.unreadable(code: ENOENT)) {
      for try await _ in ListReader(.file("/nonexistent/list")) {}
    }
    await #expect(throws: ListError.unreadable(code: EISDIR)) {
      for try await _ in ListReader(.file("/")) {}
    }
    #expect(ListSource(argument: "-") == .standardInput)
  }
}
