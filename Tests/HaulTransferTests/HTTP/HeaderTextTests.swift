import Testing

@testable import HaulTransfer

/// Header lines lose no byte, and fields of limits are read as servers write them.
struct HeaderTextTests {
  private func text(_ bytes: [UInt8]) -> String {
    unsafe bytes.withUnsafeBytes { unsafe HeaderText.text($0) }
  }

  @Test(
    arguments: [
      Array("plain".utf8), Array("é in UTF-8".utf8), [0xe9], [0x61, 0xe9, 0x62],
      [0xff, 0x80, 0xc3],
      // U+F7E9, which would look like the byte E9.
      [0xef, 0x9f, 0xa9],
    ] as [[UInt8]])
  func `bytes come back as they were`(_ bytes: [UInt8]) {
    #expect(HeaderText.bytes(text(bytes)) == bytes)
  }

  @Test func `no two lines are equal that differ in a byte`() {
    let lines = [[0xe9], Array("é".utf8), [0xef, 0x9f, 0xa9], Array("e\u{301}".utf8)].map {
      Array(text($0).utf8)
    }
    #expect(Set(lines).count == lines.count)
  }

  @Test func `a Location in Latin-1 is percent-encoded`() {
    #expect(HeaderText.percentEncoded(text([0x2f, 0xe9, 0x20, 0xfc])) == "/%E9 %FC")
    #expect(HeaderText.percentEncoded(text(Array("/é".utf8))) == "/é")
  }

  @Test(
    arguments: [
      (["X-RateLimit-Remaining: 0", "X-RateLimit-Reset: 1767225630"], true, 30),
      (["X-RateLimit-Remaining: 59"], false, nil),
      (["RateLimit-Remaining: 0", "RateLimit-Reset: 7"], true, 7),
      (["RateLimit: limit=10, remaining=0, reset=5"], true, 5),
      (["RateLimit: \"default\";r=0;t=9"], true, 9),
      (["RateLimit: \"default\";r=50;t=30"], false, 30), ([], false, nil),
      (["X-RateLimit-Remaining: 0", "X-RateLimit-Reset: 99999999999"], true, 86_400),
    ] as [([String], Bool, Int64?)])
  func `limits are read`(_ lines: [String], _ isEmpty: Bool, _ seconds: Int64?) {
    let head = ResponseHead(
      status: 403,
      fields: lines.map { line in
        let parts = line.split(separator: ":", maxSplits: 1).map(String.init)
        return .init(parts[0], String(parts[1].dropFirst()))
      })
    #expect(head.hasNoRequestsLeft == isEmpty)
    #expect(
      head.requestsReturn(now: HTTPDate(seconds: 1_767_225_600)) == seconds.map { .seconds($0) })
  }

  @Test(
    arguments: [
      (403, ["Retry-After: 5"], TransferError.Class.rateLimited, 5),
      (403, ["X-RateLimit-Remaining: 0", "RateLimit-Reset: 9"], .rateLimited, 9),
      (403, ["X-RateLimit-Remaining: 3"], .http403, nil), (404, ["Retry-After: 5"], .http404, nil),
      (410, ["Retry-After: 5"], .http410, nil), (413, ["Retry-After: 5"], .http5xx, 5),
      (423, ["Retry-After: 5"], .http5xx, 5), (423, [], .http4xx, nil),
      (429, ["RateLimit-Reset: 9"], .rateLimited, 9),
    ] as [(Int, [String], TransferError.Class, Int64?)])
  func `busy is not gone`(
    _ status: Int, _ lines: [String], _ errorClass: TransferError.Class, _ wait: Int64?
  ) {
    let head = ResponseHead(
      status: status,
      fields: lines.map { line in
        let parts = line.split(separator: ":", maxSplits: 1).map(String.init)
        return .init(parts[0], String(parts[1].dropFirst()))
      })
    let ruling = decide(
      TransferState(checkpoint: nil), asked: .whole, head: head,
      now: HTTPDate(seconds: 1_767_225_600))
    guard case .fail(let error) = ruling.verdict else {
      Issue.record("\(ruling)")
      return
    }
    #expect(error.errorClass == errorClass && error.retryAfter == wait.map { .seconds($0) })
  }
}
