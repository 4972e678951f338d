import HaulTransfer
import Testing

@testable import ListFormats

/// Stands for SHA-256: the number of bytes, as 64 digits.
private func digest(_ text: String) -> String {
  let digits = String(text.utf8.count)
  return String(repeating: "0", count: 16 - digits.count) + digits
    + String(repeating: "f", count: 48)
}

private func path(
  _ path: String, host: String = "h", query: String? = nil
) throws -> String {
  try DefaultPath.path(hostKey: host, path: path, query: query, digest: digest)
}

struct DefaultPathTests {
  @Test(arguments: [
    ("/a/b.zip", "h/a/b.zip"), ("/", "h/index.html"), ("", "h/index.html"),
    ("/a/", "h/a/index.html"), ("/a//b", "h/a/b"), ("/a%20b%c3%b6", "h/a bö"),
    ("/a%2Fb", "h/a%2Fb"), ("/%00%41", "h/%00%41"), ("/%1b[2J", "h/%1b[2J"),
    ("/%c2%85", "h/%c2%85"), ("/%ff", "h/%ff"), ("/100%", "h/100%"), ("/%zz", "h/%zz"),
    ("/../../etc/passwd", "h/etc/passwd"), ("/a/%2e%2E/b", "h/b"), ("/a/./b", "h/a/b"),
    ("/a/..", "h/index.html"), ("/a/b/.", "h/a/b/index.html"), ("/%2e%2e%2fx", "h/%2e%2e%2fx"),
    ("/...", "h/..."), ("/.haul/parts", "h/.haul/parts"), ("/a/\u{301}b", "h/a/\u{301}b"),
  ])
  func `a URL's path becomes a path below its host`(url: String, expected: String) throws {
    #expect(try path(url) == expected)
  }

  @Test func `port and query are part of the path`() throws {
    #expect(try path("/a", host: "h:8443") == "h_8443/a")
    #expect(try path("/a", host: "[::1]") == "[::1]/a")
    #expect(try path("/a", host: "[::1]:80") == "[::1]_80/a")
    #expect(try path("/a.zip", query: "x=1") == "h/a.zip-0000000000000003")
    #expect(try path("/a/", query: "x=1") == "h/a/index.html-0000000000000003")
    #expect(try path("/a", query: "") == "h/a")
  }

  @Test func `a name over 255 bytes is shortened and keeps its extension`() throws {
    let long = String(repeating: "ö", count: 150) + ".tar"
    let name = try path("/" + long).dropFirst(2)
    #expect(name.utf8.count == 255)
    #expect(name.hasSuffix("ö-0000000000000304.tar"))
    let withQuery = try path("/" + long, query: "q").dropFirst(2)
    #expect(withQuery.utf8.count <= 255)
    #expect(withQuery.hasSuffix("-0000000000000304.tar-0000000000000001"))
  }

  /// A path that a submission accepts is one that a worker can write to.
  @Test
  func `the longest path, and the store's own directory, are the same for submissions and workers`()
    throws
  {
    let longest = String(repeating: "/x", count: 2000).dropFirst() + "y"
    #expect(longest.utf8.count == 4000)
    try SubmissionCheck.path(String(longest))
    _ = try RelativePath(String(longest))
    #expect(throws: SubmissionProblem.pathTooLong(bytes: 4001)) {
      try SubmissionCheck.path(longest + "z")
    }
    #expect(throws: RelativePath.Invalid.tooLong) { try RelativePath(longest + "z") }
    for name in [".haul", ".HAUL", ".Haul/parts/a"] {
      #expect(throws: SubmissionProblem.reservedPath(name)) { try SubmissionCheck.path(name) }
      #expect(throws: RelativePath.Invalid.reserved) { try RelativePath(name) }
    }
  }

  @Test func `what a URL parser never returns is refused`() {
    #expect(throws: SubmissionProblem.reservedPath(".haul/a")) { try path("/a", host: ".haul") }
    #expect(throws: SubmissionProblem.unresolvedPath("../a")) { try path("/a", host: "..") }
    #expect(throws: SubmissionProblem.controlCharacterInPath("h/\u{1}")) { try path("/\u{1}") }
    let deep = String(repeating: "/abc", count: 1024)
    #expect(throws: SubmissionProblem.pathTooLong(bytes: 4097)) { try path(deep) }
  }
}

struct SubmissionCheckTests {
  @Test(arguments: ["a", "a/b", "a b/ö", "...", "a/.haul", ".haulage", "-"])
  func `a path below the store is accepted`(path: String) throws {
    try SubmissionCheck.path(path)
  }

  @Test(arguments: [
    ("", "the path is empty"),
    ("/etc/passwd", "the path '/etc/passwd' must be relative to the store"),
    ("/\u{301}", "the path '/\u{301}' must be relative to the store"),
    ("a/../b", "the path 'a/../b' has a '.', '..' or empty component"),
    ("./a", "the path './a' has a '.', '..' or empty component"),
    ("a//b", "the path 'a//b' has a '.', '..' or empty component"),
    ("a/", "the path 'a/' has a '.', '..' or empty component"),
    ("a\u{1b}\u{0}", #"the path 'a\u001b\u0000' has a control character"#),
    (".haul/parts/x", "the path '.haul/parts/x' is in .haul, which Haul uses for its own files"),
  ])
  func `any other path is refused in one sentence`(path: String, sentence: String) {
    #expect { try SubmissionCheck.path(path) } throws: { "\($0)" == sentence }
  }

  @Test func `a component over 255 bytes is refused`() {
    let name = String(repeating: "ö", count: 128)
    #expect(throws: SubmissionProblem.componentTooLong(name)) { try SubmissionCheck.path(name) }
  }

  @Test func `a secret in a URL is refused without repeating it`() throws {
    let good = try WebURL("http://h/a")
    try SubmissionCheck.url("http://h/a", parsed: good)
    #expect(throws: SubmissionProblem.controlCharacterInURL) {
      try SubmissionCheck.url("http://h/\n", parsed: good)
    }
    #expect {
      let url = "http://me:hunter2@h/a"
      try SubmissionCheck.url(url, parsed: WebURL(url))
    } throws: {
      !"\($0)".contains("hunter2") && "\($0)".contains("user name or password")
    }
  }

  /// The database holds to the same bound, of the URL as a job has it.
  @Test func `a URL has at most 8,000 bytes`() throws {
    let longest = "http://h/" + String(repeating: "a", count: 7_991)
    try SubmissionCheck.url(longest, parsed: WebURL(longest))
    for url in [longest + "a", "http://h/" + String(repeating: "ö", count: 1_400)] {
      #expect(throws: SubmissionProblem.urlTooLong(bytes: url == longest + "a" ? 8_001 : 8_409)) {
        try SubmissionCheck.url(url, parsed: WebURL(url))
      }
    }
  }
}
