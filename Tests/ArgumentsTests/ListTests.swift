import Foundation
import HaulTransfer
import JobModel
import Testing

@testable import ListFormats

struct ListTests {
  @Test(arguments: [1, 2, 3, 7, 1000])
  func `a list is lines of URLs, however its bytes arrive`(piece: Int) {
    let text = "\u{feff}# films\r\nhttp://h/a\r\n\n  \t\n \thttp://h/ö \t\r\n#x\nhttp://h/last"
    for format in [ListFormat.plain, nil] {
      #expect(
        items(Array(text.utf8), as: format, piece: piece) == [
          entry(2, "http://h/a"), entry(5, "http://h/ö"), entry(7, "http://h/last"),
        ])
    }
  }

  @Test(arguments: ["", "\n\n", "# only\n"], [ListFormat.plain, .aria2, .jsonl, nil])
  func `a list may be empty`(text: String, format: ListFormat?) {
    if format == .jsonl && text.hasPrefix("#") { return }
    #expect(items(text, as: format) == [])
  }

  @Test(arguments: ["\n", "\r\n", ""])
  func `a line of 64 KiB is the longest, and what follows a longer one is read`(end: String) {
    let line = [UInt8](repeating: UInt8(ascii: "a"), count: 64 << 10)
    let first = Array("x\n".utf8)
    for piece in [5000, 1 << 20] {
      #expect(items(first + line + Array(end.utf8), piece: piece).count == 2)
      let longer = items(
        first + line + [97] + Array(end.utf8) + (end == "" ? [] : first), piece: piece)
      #expect(
        longer == [entry(1, "x"), .problem(line: 2, "the line is longer than 64 KiB")]
          + (end == "" ? [] : [entry(3, "x")]))
    }
  }

  @Test(arguments: [[0xff], [0xc3], [0xed, 0xa0, 0x80], [0xc0, 0xaf]] as [[UInt8]])
  func `a line that is not UTF-8 is told by its number`(bytes: [UInt8]) {
    for format in [ListFormat.plain, .aria2, nil] {
      #expect(
        items(Array("a\nb\n".utf8) + bytes + Array("\nc".utf8), as: format, piece: 4) == [
          entry(1, "a"), entry(2, "b"), .problem(line: 3, "the line is not UTF-8"),
          entry(4, "c"),
        ])
    }
  }

  @Test(
    arguments: [
      ("http://h/a\n", .none), ("TsvHttpData-1.0\n", .tsv), ("TsvHttpData-1.0\r\n", .tsv),
      ("\n# x\n {\"url\":\"http://h/\"}\n", .jsonl), ("url\n", .csv), ("path, url\n", .csv),
      ("\"url\",\"length\"\r\n", .csv), ("URL;path\n", .csv), ("path\n", .none),
    ] as [(String, ListFormat?)])
  func `a format is told by its first line`(text: String, format: ListFormat?) {
    let notices = items(text, as: nil).filter { if case .notice = $0 { true } else { false } }
    #expect(notices == (format.map { [.notice("Haul reads this list as \($0.title)")] } ?? []))
  }

  @Test(
    arguments: [
      ("a.jsonl", .jsonl), ("a.NDJSON", .jsonl), ("a.csv", .csv), ("a.tsv", .none),
      ("a.txt", .none), ("csv", .none),
    ] as [(String, ListFormat?)])
  func `a format is told by its name's ending`(name: String, format: ListFormat?) {
    #expect(ListFormat.recognised(name: name, line: "http://h/")?.title == format?.title)
  }

  @Test func `URLs with a comment behind the last one are mirrors`() {
    let expected = entry(1, "http://h/a") { $0.options.mirrors = ["http://m/a"] }
    for line in ["http://h/a\thttp://m/a # good", "http://h/a\thttp://m/a\t# good"] {
      #expect(ListFormat.recognised(name: "list.tsv", line: line)?.title == nil)
      var parser = Aria2Lines(isCertain: false)
      _ = parser.parse(ListLine(number: 1, text: line))
      #expect(parser.finish() == expected)
    }
  }

  // MARK: - aria2

  @Test func `options of aria2 belong to the line above them`() {
    let md5 = "md5=" + String(repeating: "0", count: 32)
    let text = """
      # films
      http://h/a\thttp://mirror/a
        out=x.iso
      \tdir=./films//
        checksum=\(md5)
        split=5

      http://h/b
        dir=.
        split=1
        continue=true
      http://h/c
       dir=d
      """
    let expected = [
      entry(2, "http://h/a") {
        $0.path = "films/x.iso"
        $0.options.digest = md5
        $0.options.mirrors = ["http://mirror/a"]
      },
      entry(8, "http://h/b"), entry(12, "http://h/c") { $0.directory = "d" },
    ]
    let notices: [ListItem] = [
      .ignored("Haul ignores these options of aria2: split, continue")
    ]
    #expect(items(text, as: .aria2) == expected + notices)
    #expect(
      items(text, as: nil) == expected + [.notice("Haul reads this list as an aria2 input file")]
        + notices)
  }

  @Test(arguments: [
    ("http://h/\n  header=Authorization: Bearer x\n", "the header Authorization contains a secret"),
    ("http://h/\n  header=Cookie: x\n", "the header Cookie contains a secret"),
    (
      "http://h/\n  header=Range: bytes=0-\n",
      "the header Range cannot be set: Haul sets this header itself"
    ),
    ("http://h/\n  header=Referer\n", "a header must have the form 'Name: value'"),
    ("http://h/\n  http-passwd=x\n", "http-passwd contains a secret"),
    ("http://h/\n  all-proxy=http://u:p@h\n", "all-proxy contains a secret"),
    ("http://h/\n  referer=\u{1}\n", "the header Referer contains a control character"),
  ])
  func `what holds a secret or cannot be sent is refused by its line`(
    text: String, reason: String
  ) {
    guard case .problem(line: 2, let found)? = items(text, as: .aria2).first else {
      Issue.record("taken")
      return
    }
    #expect(found.hasPrefix(reason) && !found.contains("Bearer"))
  }

  @Test func `an option without a URL, and an indented line that is none, are wrong`() {
    #expect(
      items("  out=x\nhttp://h/\n  nothing\n", as: .aria2) == [
        .problem(line: 1, "no URL comes before the option out"), entry(2, "http://h/"),
        .problem(line: 3, "the line is indented, but it is not an option such as out=NAME"),
      ])
    #expect(
      items("http://h/\n  out=x\n", as: .plain) == [
        entry(1, "http://h/"),
        .problem(line: 2, "this line is an option of aria2. Use --format aria2 to read this list"),
      ])
  }

  // MARK: - TsvHttpData-1.0

  @Test func `TsvHttpData has URL, length and MD5`() {
    let text =
      "TsvHttpData-1.0\nhttp://h/a\t1357\twHENa08V36iPYAsOa2JAdw==\nhttp://h/b\t\t\nhttp://h/c\n"
    #expect(
      items(text, as: .tsv) == [
        entry(2, "http://h/a") {
          $0.options.length = 1357
          $0.options.digest = "md5=wHENa08V36iPYAsOa2JAdw=="
        }, entry(3, "http://h/b"), entry(4, "http://h/c"),
      ])
    #expect(ExpectedDigest(spelled: "md5=wHENa08V36iPYAsOa2JAdw==") != nil)
  }

  @Test func `a wrong line of TsvHttpData is told`() {
    #expect(
      items("TsvHttpData-1.0\nh\t-1\nh\t1\tx\ty\n", as: .tsv) == [
        .problem(line: 2, "length is '-1', but must be a whole number"),
        .problem(line: 3, "the line has 4 fields, but the maximum is 3: URL, length and MD5"),
      ])
  }

  // MARK: - JSON lines

  @Test func `JSON lines have all fields`() {
    let text = """
      {"url":"http://h/\\u00f6","path":"a \\"b\\"","digest":"md5=x","length":5,"priority":1,"if_exists":"skip",\
      "max_attempts":2,"max_bytes":3,"max_rate":4,"max_host_wait":6,"accept_unverified_length":true,\
      "record_digest":false,"remote_time":true,"connect_timeout":7,"stall_timeout":8}

      {"url":"http://h/b","path":null}
      """
    #expect(
      items(text, as: .jsonl) == [.entry(Self.full), entry(3, "http://h/b")])
  }

  /// An entry with all that one can have.
  private static let full: ListEntry = {
    var entry = ListEntry(
      line: 1, url: "http://h/ö", path: "a \"b\"", digest: "md5=x", length: 5)
    entry.priority = 1
    entry.options.ifExists = "skip"
    entry.options.maxAttempts = 2
    entry.options.maxBytes = 3
    entry.options.maxRate = 4
    entry.options.maxHostWait = 6
    entry.options.acceptUnverifiedLength = true
    entry.options.recordDigest = false
    entry.options.remoteTime = true
    entry.options.connectTimeout = 7
    entry.options.stallTimeout = 8
    return entry
  }()

  @Test(arguments: [
    (
      "{\"url\":\"h\",\"out\":\"x\"}",
      "'out' is not the name of a field. Did you mean 'path'? Use --name-column 'out' to read this field as path"
    ),
    (
      "{\"url\":\"h\",\"cheksum\":\"x\"}",
      "'cheksum' is not the name of a field. Did you mean 'digest'? Use --digest-column 'cheksum' to read this field as digest"
    ),
    (
      "{\"url\":\"h\",\"max_atempts\":\"x\"}",
      "'max_atempts' is not the name of a field. Did you mean 'max_attempts'? To ignore 'max_atempts', name the column of the URLs with --url-column"
    ),
    ("{\"url\":\"h\",\"length\":1.5}", "length must be text, a whole number, true or false"),
    ("{\"url\":\"h\",\"length\":\"x\"}", "length is 'x', but must be a whole number"),
    (
      "{\"url\":\"h\",\"length\":9223372036854775807}",
      "length is 9223372036854775807, but the maximum is 9000000000000000000"
    ),
    (
      "{\"url\":\"h\",\"max_host_wait\":1000000001}",
      "max_host_wait is 1000000001, but the maximum is 1000000000"
    ),
    ("{\"url\":\"h\",\"remote_time\":1}", "remote_time is '1', but must be true or false"),
    ("{\"url\":[\"h\"]}", "url must be text"), ("{\"url\":5}", "url must be text"),
    ("{\"path\":\"h\"}", "the object has no url"), ("[1]", "the entry is not a JSON object"),
    ("{", "the JSON is not complete"), ("http://h/", "the entry is not a JSON object"),
  ])
  func `a wrong line of JSON is told`(text: String, reason: String) {
    guard case .problem(line: 1, let found)? = items(text, as: .jsonl).first else {
      Issue.record("taken")
      return
    }
    #expect(found.hasPrefix(reason), "\(found)")
  }

  // MARK: - CSV

  @Test func `CSV has quoted fields, CR LF and a byte order mark`() {
    let text =
      "\u{feff}url,\"path\", length\r\nhttp://h/a,\"x, \"\"y\"\"\",7\r\n\r\n\"http://h/b\",,\r\n"
    #expect(
      items(text, as: .csv) == [
        entry(2, "http://h/a") {
          $0.path = "x, \"y\""
          $0.options.length = 7
        }, entry(4, "http://h/b"),
      ])
  }

  @Test(
    arguments: [
      ("url\n\"a\n", 2, "the line has no closing quotation mark"),
      ("url\n\"a\"b\n", 2, "a comma must follow a closing quotation mark"),
      ("url\na\"b\n", 2, "a field that contains a quotation mark must be in quotation marks"),
      ("url\na,b\n", 2, "the line has 2 fields, but the header has 1"),
      ("url,path\n,b\n", 2, "the url is empty"),
      (
        "url,Size\nx,1\n", 1,
        "'Size' is not the name of a field. Did you mean 'length'? To ignore 'Size', name the column of the URLs with --url-column"
      ),
      (
        "path\nx\n", 1,
        "no column is called url. The only column is 'path'. Use --url-column to choose the one with the URLs"
      ),
      ("url,url\nx\n", 1, "the header has two columns named url"),
    ] as [(String, Int, String)])
  func `a wrong line of CSV is told`(text: String, line: Int, reason: String) {
    #expect(items(text, as: .csv) == [.problem(line: line, reason)])
  }

  // MARK: - Writing

  @Test(arguments: [ListFormat.jsonl, .csv])
  func `what is written is read again`(format: ListFormat) {
    let writer = ListWriter(format)
    var bare = ListEntry(line: 0, url: "http://h/,\"\\\u{1}")
    let text = writer.heading + writer.lines(of: Self.full) + writer.lines(of: bare)
    var full = Self.full
    full.line = format == .csv ? 2 : 1
    bare.line = full.line + 1
    #expect(items(text, as: format) == [.entry(full), .entry(bare)])
  }

  @Test func `other formats have what they have words for`() {
    var entry = ListEntry(
      line: 1, url: "http://h/a", path: "x", digest: "md5=" + String(repeating: "0", count: 32),
      length: 5)
    #expect(ListWriter(.plain).lines(of: entry) == "http://h/a\n")
    #expect(
      ListWriter(.aria2).lines(of: entry)
        == "http://h/a\n  out=x\n  checksum=md5=00000000000000000000000000000000\n")
    #expect(ListWriter(.tsv).lines(of: entry) == "http://h/a\t5\tAAAAAAAAAAAAAAAAAAAAAA==\n")
    entry.options.digest = "sha-256=" + String(repeating: "0", count: 64)
    #expect(ListWriter(.tsv).lines(of: entry) == "http://h/a\t5\t\n")
  }

  // MARK: - Reading

  @Test func `a file is read to its end in pieces`() async throws {
    let count = 40_000
    let text = (1...count).map { "http://example.org/\($0)\n" }.joined()
    try await withList(Array(text.utf8)) { source in
      var read = 0
      for try await item in ListReader(source) {
        read += 1
        #expect(item == entry(read, "http://example.org/\(read)"))
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
    var iterator = ListReader(.file(path), ListChoices(format: .plain)).makeAsyncIterator()
    for (line, text) in ["http://h/1\n", "http://h/2\nhttp", "://h/3\n"].enumerated() {
      try #require(write(writer, text, text.utf8.count) == text.utf8.count)
      let item = try await iterator.next(isolation: nil)
      #expect(item == entry(line + 1, "http://h/\(line + 1)"))
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
