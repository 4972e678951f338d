import Testing

@testable import HaulTransfer

/// What FTP and SFTP know of a file, told as HTTP tells it.
@Suite struct FileRequestTests {
  private let now = HTTPDate(seconds: 1_700_000_000)
  private let old: Int64 = 1_600_000_000

  private func question(_ range: String?, _ tag: String? = nil) -> FileRequest {
    FileRequest(
      [range.map { .init("Range", $0) }, tag.map { .init("If-None-Match", $0) }].compactMap(\.self))
  }

  @Test func `all of a file`() {
    let (parsed, wanted) = question(nil).head(.init(length: 9, modified: old), now: now)
    #expect(parsed.head.status == 200 && parsed.framing == .length(9) && wanted == nil)
    #expect(parsed.head.value("ETag") == "\"9-1600000000\"")
    #expect(parsed.head.value("Last-Modified") == "Sun, 13 Sep 2020 12:26:40 GMT")
    #expect(question(nil).head(.init(), now: now).0.framing == .untilClose)
  }

  @Test(
    arguments: [
      (9, 1_699_999_941, "W/\"9-1699999941\""), (9, 1_699_999_940, "\"9-1699999940\""),
      (9, 1_800_000_000, "W/\"9-1800000000\""), (nil, 1_600_000_000, nil), (9, nil, nil),
    ] as [(Int64?, Int64?, String?)])
  func `a validator is made of size and time, and strong after a minute`(
    length: Int64?, modified: Int64?, tag: String?
  ) {
    let head = question(nil).head(.init(length: length, modified: modified), now: now).0.head
    #expect(head.value("ETag") == tag)
    // Without a tag the date must not stand in for it.
    #expect((Validator(head, now: now) != nil) == (tag?.hasPrefix("\"") == true))
  }

  @Test(
    arguments: [
      ("bytes=4-9", 6, "bytes 4-9/10", nil), ("bytes=4-99", 6, "bytes 4-9/10", nil),
      ("bytes=4-5", 6, "bytes 4-5/10", 2), ("bytes=0-0", 10, "bytes 0-0/10", 1),
    ] as [(String, Int64, String, Int64?)])
  func `a range`(range: String, left: Int64, told: String, wanted: Int64?) {
    let answer = question(range).head(.init(length: left, modified: old), now: now)
    #expect(answer.0.head.status == 206 && answer.0.head.value("Content-Range") == told)
    #expect(answer.wanted == wanted)
  }

  @Test(arguments: [Int64.max, .max - 3, (1 << 50) + 1] as [Int64])
  func `a size that no file has is as good as none`(length: Int64) {
    let facts = FileRequest.Facts(length: length, modified: old)
    #expect(question(nil).head(facts, now: now).0.framing == .untilClose)
    #expect(question("bytes=4-9").head(facts, now: now).0.head.status == 416)
  }

  @Test func `a range of a file whose size nobody tells, and the same file again`() {
    #expect(question("bytes=4-9").head(.init(modified: old), now: now).0.head.status == 416)
    let facts = FileRequest.Facts(length: 9, modified: old)
    #expect(question(nil, "\"9-1600000000\"").head(facts, now: now).0.head.status == 304)
    #expect(question(nil, "\"8-1600000000\"").head(facts, now: now).0.head.status == 200)
  }
}
