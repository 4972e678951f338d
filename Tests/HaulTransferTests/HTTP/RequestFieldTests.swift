import HaulTransfer
import Testing

/// What a job may ask with, and what it may not.
struct RequestFieldTests {
  @Test(arguments: [
    ("Referer: https://example.org/?a:b", "Referer: https://example.org/?a:b"),
    ("X-A:b", "X-A: b"), ("accept-language:   de, en  ", "accept-language: de, en"),
    ("User-Agent: curl/8", "User-Agent: curl/8"), ("X-Empty:", "X-Empty: "), ("X-Ö: ö", ""),
    ("X-Name: ö", "X-Name: ö"),
  ])
  func `a header is a token and a value`(text: String, read: String) {
    #expect((try? RequestField(text))?.text ?? "" == read)
  }

  @Test(
    arguments: [
      ("Referer", .malformed), (": x", .malformed), ("A B: x", .malformed), ("A : x", .malformed),
      ("", .malformed), ("A\r\nB: x", .malformed),
      ("A: b\r\nC: d", .controlCharacter("A")), ("A: b\nC", .controlCharacter("A")),
      ("A: b\0", .controlCharacter("A")), ("A: b\tc", .controlCharacter("A")),
      ("A: b\u{85}c", .controlCharacter("A")),
      ("A: " + String(repeating: "x", count: 4097), .tooLong("A")),
    ] as [(String, RequestField.Problem)])
  func `what would break the request's head is refused`(text: String, problem: RequestField.Problem)
  {
    #expect(throws: problem) { try RequestField(text) }
  }

  @Test(arguments: [
    "Host", "Range", "range", "If-Range", "If-None-Match", "IF-MODIFIED-SINCE", "Accept-Encoding",
    "Content-Length", "Transfer-Encoding", "TE", "Connection", "Upgrade", "Expect",
  ])
  func `what would break the contract of a transfer is refused`(name: String) {
    #expect(throws: RequestField.Problem.reserved(name)) { try RequestField("\(name): x") }
  }

  @Test(arguments: [
    "Authorization", "PROXY-Authorization", "Cookie", "cookie2", "X-Api-Key", "X-Auth-Token",
    "X-Auth-Email",
    "PRIVATE-TOKEN", "X-Amz-Security-Token", "X-Secret", "X-Access-Key",
  ])
  func `what proves who asks is refused, and never repeated`(name: String) {
    let problem = RequestField.Problem.secret(name)
    #expect(throws: problem) { try RequestField("\(name): hunter2") }
    #expect(problem.description.contains("credential") && !problem.description.contains("hunter2"))
  }

  @Test func `no header is there twice, and not too many are`() throws {
    #expect(throws: RequestField.Problem.twice("referer")) {
      try RequestField.all(["Referer: a", "referer: b"])
    }
    #expect(throws: RequestField.Problem.tooMany) {
      try RequestField.all((1...33).map { "X-\($0): a" })
    }
    #expect(try RequestField.all((1...32).map { "X-\($0): a" }).count == 32)
  }
}
