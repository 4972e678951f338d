import Testing

@testable import HaulTransfer

@Suite struct CheckpointTests {
  let full = Checkpoint(
    url: "https://example.org/a", completeLength: 9000, validator: .strongETag("\"a/b\""),
    contentEncoding: "gzip", mediaType: "application/zip", modified: 7,
    durable: ByteRanges(0..<4096),
    part: "7-1", inode: .max, changes: 2, publishing: "x/y")

  @Test func `comes back from its resume data`() throws {
    #expect(try Checkpoint(resumeData: full.resumeData()) == full)
    let least = Checkpoint(
      completeLength: 0, validator: nil, durable: ByteRanges(), part: "p", inode: 1)
    #expect(try Checkpoint(resumeData: least.resumeData()) == least)
  }

  @Test func `its JSON form stays readable for the versions to come`() throws {
    let text = #"""
      {"changes":2,"completeLength":9000,"contentEncoding":"gzip","durable":"{[0,4096)}",\#
      "inode":18446744073709551615,"mediaType":"application/zip","modified":7,\#
      "part":"7-1","publishing":"x/y","url":"https://example.org/a","validator":"\"a/b\"","version":1}
      """#
    #expect(String(decoding: try full.resumeData(), as: UTF8.self) == text)
  }

  @Test(arguments: [
    (#""version":1"#, #""version":2"#), (#""version":1"#, #""version":"1""#),
    (#""completeLength":9000"#, #""completeLength":4095"#),
    (#""completeLength":9000"#, #""completeLength":-1"#), (#""changes":2"#, #""changes":-2"#),
    ("{[0,4096)}", "{[0,4096]}"), (#""\"a/b\"""#, #""W/\"a/b\"""#), (#""inode":1"#, #""inode":-1"#),
    ("{\"", "\""),
  ])
  func `refuses what it cannot trust`(_ what: String, _ by: String) throws {
    let text = String(decoding: try full.resumeData(), as: UTF8.self)
    #expect(text.contains(what))
    let spoiled = text.replacing(what, with: by)
    #expect(throws: DecodingError.self) { try Checkpoint(resumeData: Array(spoiled.utf8)) }
  }

  @Test func `is resumable only under a validator, with something durable, and few changes`() {
    #expect(full.isResumable)
    var other = full
    other.validator = nil
    #expect(!other.isResumable)
    other = full
    other.durable = ByteRanges()
    #expect(!other.isResumable)
    other = full
    other.changes = 3
    #expect(!other.isResumable)
  }

  /// As of a URL that has got another query: more must agree, and there must be so much.
  @Test func `one that was moved compares 64 KiB`() throws {
    var moved = full
    moved.isMoved = true
    #expect(try Checkpoint(resumeData: moved.resumeData()) == moved)
    #expect(full.overlap == 4096 && moved.overlap == 65_536)
    #expect(full.isResumable && !moved.isResumable)
    moved.completeLength = 100_000
    moved.durable = ByteRanges(0..<65_536)
    #expect(moved.isResumable)
  }

  /// Other paths have other types, lengths and validators.
  @Test(arguments: [
    ["Content-Length: 5"], ["Content-Length: 5", "ETag: \"a/b\""],
    ["Content-Length: 5", "Content-Type: text/html"], ["Content-Type: text/plain", "ETag: \"x\""],
    [],
  ])
  func `what is from another URL is no measure for this one`(fields: [String]) throws {
    var moved = full
    moved.contentEncoding = nil
    (moved.completeLength, moved.durable) = (100_000, ByteRanges(0..<70_000))
    (moved.isMoved, moved.isFromElsewhere) = (true, true)
    #expect(try Checkpoint(resumeData: moved.resumeData()) == moved)
    var state = TransferState(checkpoint: moved)
    #expect(state.earlierLength == nil)
    guard case .request(_, let asked) = state.next(), asked.isRange else {
      Issue.record("no range")
      return
    }
    let answer = ResponseHead(status: 200, fields: fields.flatMap { head(200, $0).fields })
    let ruling = state.answered(answer, asked: asked, now: HTTPDate(seconds: 0))
    // What states no length may be the rest.
    if answer.bodyLength == .unknown {
      #expect(ruling.verdict == .onceWhole)
      return
    }
    guard case .changedUseBody = ruling.verdict else {
      Issue.record("\(ruling)")
      return
    }
  }

  @Test func `new bytes end the doubt of a moved one`() {
    var moved = full
    (moved.isMoved, moved.isFromElsewhere) = (true, true)
    moved.advance(to: moved.durable)
    #expect(moved.isMoved)
    moved.advance(to: ByteRanges(0..<5000))
    #expect(!moved.isMoved && !moved.isFromElsewhere && moved.durable == ByteRanges(0..<5000))
  }

  /// Nothing else could tell whether the rest belongs to it.
  @Test(arguments: [false, true])
  func `what a digest guards is resumed only for a job with one`(hasDigest: Bool) {
    var guarded = full
    guarded.validator = .jobDigest
    var policy = TransferState.Policy()
    policy.digest =
      hasDigest ? ExpectedDigest(spelled: "md5=" + String(repeating: "0", count: 32)) : nil
    var state = TransferState(checkpoint: guarded, policy: policy)
    guard case .request(_, let asked) = state.next() else {
      Issue.record("no request")
      return
    }
    #expect(asked.isRange == hasDigest)
  }

  @Test(
    arguments: [
      ("application/zip", 10, nil), ("application/pdf", 10, nil),
      ("application/json", 10, "a response without the ETag or Last-Modified that the file had"),
      ("text/html", 10, "an HTML page"), ("text/html", 90_000, "an HTML page"),
      (nil, 90_000, "a response without the ETag or Last-Modified that the file had"),
      (nil, 10, "a response without the ETag or Last-Modified that the file had"),
    ] as [(String?, Int64, String?)])
  func `another query may mean another file, and no error message`(
    type: String?, length: Int64, suspicion: String?
  ) {
    let known = KnownFile(
      hasValidator: true, mediaType: "application/zip", length: 90_000, saved: 80_000, isMoved: true
    )
    var new = Representation(ResponseHead(status: 200, fields: []), now: HTTPDate(seconds: 0))
    (new.mediaType, new.completeLength) = (type, length)
    #expect(known.suspicion(of: new, isSame: false) == suspicion)
  }
}
