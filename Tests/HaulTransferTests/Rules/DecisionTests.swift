import Testing

@testable import HaulTransfer

/// A record of 10,000 bytes of which 8,192 are durable, and what is asked of it.
private enum Record {
  static let date = "Sun, 06 Nov 1994 08:48:37 GMT"
  static let etag = checkpoint(.strongETag("\"v\""))
  static let dated = checkpoint(.lastModified(date))
  static let gzip = checkpoint(.strongETag("\"v\""), encoding: "gzip")
  static let complete = checkpoint(.strongETag("\"v\""), durable: 10_000)

  static func checkpoint(
    _ validator: Validator, encoding: String? = nil, durable: Int64 = 8192
  ) -> Checkpoint {
    Checkpoint(
      completeLength: 10_000, validator: validator, contentEncoding: encoding,
      mediaType: "application/zip", durable: ByteRanges(0..<durable), part: "1-1", inode: 1)
  }
}

private let resume = RequestKind.part(range: 4096..<10_000, fresh: 8192, ifRange: true)
private let plain = RequestKind.part(range: 4096..<10_000, fresh: 8192, ifRange: false)
private let tag = "ETag: \"v\""
private let other = "ETag: \"w\""
private let modified = "Last-Modified: \(Record.date)"
private let good = "Content-Range: bytes 4096-9999/10000"
private let unsafeRestart = Action.restart(markRangeUnsafe: true)
private let restart = Action.restart(markRangeUnsafe: false)

/// One line of the table.
struct Case: Sendable, CustomTestStringConvertible {
  var row: Int?
  var asked: RequestKind
  var record: Checkpoint?
  var head: ResponseHead
  var action: Action
  var testDescription: String { "row \(row ?? 0): \(asked) → \(head)" }

  init(
    _ row: Int?, _ asked: RequestKind, _ record: Checkpoint?, _ head: ResponseHead, _ action: Action
  ) {
    (self.row, self.asked, self.record, self.head, self.action) = (row, asked, record, head, action)
  }
}

private func accept(_ start: Int64, _ compareUntil: Int64, _ end: Int64) -> Action {
  .accept(start: start, compareUntil: compareUntil, end: end)
}

private func representation(
  _ length: Int64?, _ tag: String? = "\"v\"", type: String? = nil, encoding: String? = nil
) -> Representation {
  Representation(
    completeLength: length, validator: tag.map { .strongETag($0) }, contentEncoding: encoding,
    mediaType: type)
}

private let r = Record.etag
private let rangeCases: [Case] = [
  Case(
    1, resume, r, head(206, good, tag, "Content-Type: multipart/byteranges; boundary=x"),
    unsafeRestart),
  Case(1, resume, r, head(206, tag), unsafeRestart),
  Case(2, resume, r, head(206, good, good, tag), accept(4096, 8192, 10_000)),
  Case(
    1, resume, r, head(206, good, "Content-Range: bytes 0-9999/10000", tag), unsafeRestart),
  Case(1, resume, r, head(206, "Content-Range: bytes 4096-9999", tag), unsafeRestart),
  Case(1, resume, r, head(206, "Content-Range: items 4096-9999/10000", tag), unsafeRestart),
  Case(1, resume, r, head(206, "Content-Range: bytes */10000", tag), unsafeRestart),
  Case(2, resume, r, head(206, good, tag), accept(4096, 8192, 10_000)),
  Case(2, resume, r, head(206, good, tag, "Content-Length: 5904"), accept(4096, 8192, 10_000)),
  Case(2, plain, r, head(206, good, tag), accept(4096, 8192, 10_000)),
  Case(
    2, resume, r, head(206, "Content-Range: bytes 4096-8999/10000", tag), accept(4096, 8192, 9000)),
  Case(
    2, resume, r, head(206, "Content-Range: bytes 4096-4999/10000", tag), accept(4096, 5000, 5000)),
  Case(2, resume, Record.dated, head(206, good, modified), accept(4096, 8192, 10_000)),
  Case(
    2, resume, Record.gzip, head(206, good, tag, "Content-Encoding: gzip"),
    accept(4096, 8192, 10_000)),
  Case(3, resume, r, head(206, "Content-Range: bytes 0-9999/10000", tag), accept(0, 8192, 10_000)),
  Case(
    3, resume, r, head(206, "Content-Range: bytes 4095-9999/10000", tag), accept(4095, 8192, 10_000)
  ),
  Case(4, resume, r, head(206, "Content-Range: bytes 4097-9999/10000", tag), unsafeRestart),
  Case(4, resume, r, head(206, "Content-Range: bytes 8192-9999/10000", tag), unsafeRestart),
  Case(4, resume, r, head(206, "Content-Range: bytes 4096-10000/10001", tag), unsafeRestart),
  Case(4, resume, r, head(206, good, tag, "Content-Length: 5903"), unsafeRestart),
  Case(4, resume, r, head(206, good, tag, "Content-Length: 10000"), unsafeRestart),
  Case(4, resume, r, head(206, good, tag, "Content-Length: x"), unsafeRestart),
  Case(5, resume, r, head(206, "Content-Range: bytes 4096-9999/20000", tag), .changedRestart),
  Case(5, resume, r, head(206, "Content-Range: bytes 4096-8999/9000", tag), .changedRestart),
  Case(5, resume, r, head(206, good, other), .changedRestart),
  Case(5, resume, r, head(206, good, "ETag: W/\"v\""), .changedRestart),
  Case(5, plain, r, head(206, good, other), .changedRestart),
  Case(
    5, resume, Record.dated, head(206, good, "Last-Modified: Mon, 07 Nov 1994 08:48:37 GMT"),
    .changedRestart),
  Case(
    6, resume, r, head(206, "Content-Range: bytes 4096-9999/*", tag), accept(4096, 8192, 10_000)),
  Case(6, resume, r, head(206, "Content-Range: bytes 4096-9999/*"), restart),
  Case(6, resume, Record.dated, head(206, "Content-Range: bytes 4096-9999/*"), restart),
  Case(7, resume, r, head(206, good), .oncePlainRange),
  Case(7, plain, r, head(206, good), restart),
  Case(7, resume, Record.dated, head(206, good), .oncePlainRange),
  Case(7, plain, Record.dated, head(206, good), restart),
  Case(8, resume, r, head(206, good, tag, "Content-Encoding: gzip"), restart),
  Case(8, resume, Record.gzip, head(206, good, tag), restart),
  Case(13, resume, Record.complete, head(416, "Content-Range: bytes */10000"), .verify),
  Case(14, resume, r, head(416, "Content-Range: bytes */9999"), .changedRestart),
  Case(14, resume, Record.complete, head(416, "Content-Range: bytes */0"), .changedRestart),
  Case(15, resume, r, head(416), .probe),
  Case(15, resume, r, head(416, "Content-Range: bytes */10000"), .probe),
  Case(15, resume, r, head(416, "Content-Range: bytes */x"), .probe),
  Case(15, .probe, r, head(206, "Content-Range: bytes 0-0/10000", tag), .askForRest),
  Case(15, .probe, Record.complete, head(206, "Content-Range: bytes 0-0/10000", tag), .verify),
  Case(15, .probe, Record.complete, head(200, "Content-Length: 10000", tag), .verify),
  Case(5, .probe, r, head(206, "Content-Range: bytes 0-0/9999", tag), .changedRestart),
  Case(4, .probe, r, head(206, "Content-Range: bytes 0-9/10000", tag), unsafeRestart),
  Case(7, .probe, r, head(206, "Content-Range: bytes 0-0/10000"), restart),
  Case(
    10, .probe, r, head(200, "Content-Length: 10000", tag),
    .compare(representation(10_000), isSame: true, resumable: false)),
  Case(11, .probe, r, head(200, "Content-Length: 9999", tag), .askAgain),
  Case(16, resume, r, head(412), .changedRestart),
]

private let wholeCases: [Case] = [
  Case(
    nil, .whole, nil, head(200, "Content-Length: 5", tag),
    .wholeBody(representation(5), resumable: true)),
  Case(nil, .whole, nil, head(200), .wholeBody(representation(nil, nil), resumable: true)),
  Case(
    nil, .whole, nil, head(200, "Content-Type: text/html"),
    .wholeBody(representation(nil, nil, type: "text/html"), resumable: true)),
  Case(
    nil, .whole, r, head(200, "Content-Length: 5", other),
    .wholeBody(representation(5, "\"w\""), resumable: true)),
  Case(10, resume, r, head(200, "Content-Length: 10000", tag), .oncePlainRange),
  Case(11, resume, r, head(200, tag), .onceWhole),
  Case(11, resume, r, head(200, other), .onceWhole),
  Case(11, resume, r, head(200, "Content-Length: 5904", other), .onceWhole),
  Case(
    10, plain, r, head(200, "Content-Length: 10000", tag),
    .compare(representation(10_000), isSame: true, resumable: false)),
  Case(
    11, resume, r, head(200, "Content-Length: 10000", other),
    .changedUseBody(representation(10_000, "\"w\""))),
  Case(
    12, resume, r, head(200, "Content-Length: 10000"),
    .compare(representation(10_000, nil), isSame: false, resumable: true)),
  Case(
    nil, .whole, r, head(200, "Content-Length: 10000", tag),
    .compare(representation(10_000), isSame: true, resumable: true)),
  Case(
    nil, .whole, r, head(200, "Content-Length: 10000", other),
    .wholeBody(representation(10_000, "\"w\""), resumable: true)),
  Case(
    12, .whole, r, head(200, "Content-Length: 10000", other, "Content-Type: text/plain"),
    .compare(
      representation(10_000, "\"w\"", type: "text/plain"), isSame: false, resumable: true)),
  Case(
    12, resume, Record.checkpoint(.strongETag("\"v\""), durable: 1023),
    head(200, "Content-Length: 10000"), .onceWhole),
  // The length equals what is durable: still not complete.
  Case(11, resume, r, head(200, "Content-Length: 8192", tag), .askAgain),
  Case(
    11, resume, r, head(200, "Content-Length: 10000", tag, "Content-Encoding: gzip"),
    .changedUseBody(representation(10_000, encoding: "gzip"))),
]

private let plainCases: [Case] = [
  Case(12, resume, r, head(200, "Content-Type: text/html; charset=x", other), .onceWhole),
  Case(
    12, resume, r, head(200, "Content-Length: 41", "Content-Type: application/json"), .onceWhole),
  Case(27, resume, r, head(403), .onceWhole), Case(27, resume, r, head(204), .onceWhole),
  Case(27, .probe, r, head(501), .onceWhole),
  Case(
    nil, .whole, nil, head(203, "Content-Length: 5", tag),
    .wholeBody(representation(5), resumable: true)),
  Case(25, .whole, nil, head(301, "Location: /x"), .redirect(to: "/x")),
  Case(25, resume, r, head(302, "Location: http://b/"), .redirect(to: "http://b/")),
]

@Suite struct DecisionTests {
  let now = HTTPDate(seconds: 1_767_225_600)

  @Test(arguments: rangeCases + wholeCases + plainCases)
  func `the table, a line a case`(_ line: Case) {
    let state = TransferState(checkpoint: line.record)
    let ruling = decide(state, asked: line.asked, head: line.head, now: now)
    #expect(ruling == TableDecision(line.row, line.action))
  }

  @Test(arguments: [(tag, nil), (other, 12), ("X: y", 12)] as [(String, Int?)])
  func `12: a page where nobody had told a type`(_ field: String, _ row: Int?) {
    var untyped = Record.etag
    untyped.mediaType = nil
    let page = head(200, "Content-Type: text/html", field)
    let ruling = decide(
      TransferState(checkpoint: untyped), asked: .whole, head: page, now: now)
    #expect(ruling.row == row)
  }

  @Test(
    arguments: [
      (9, RequestKind.whole, head(206, tag), TransferError.Class.protocol),
      (9, .whole, head(206, good, tag), .protocol),
      (17, .whole, head(304), .protocol),
      (17, resume, head(304), .protocol),
      (nil, resume, head(401), .http4xx), (nil, .whole, head(403), .http403),
      (nil, .whole, head(404), .http404), (nil, .whole, head(410), .http410),
      (19, .whole, head(429), .rateLimited),
      (19, .whole, head(503, "Retry-After: 5"), .rateLimited),
      (19, .whole, head(503), .http5xx), (19, .whole, head(503, "Retry-After: x"), .http5xx),
      (19, .whole, head(500), .http5xx), (19, .whole, head(502), .http5xx),
      (19, .whole, head(504), .http5xx), (19, .whole, head(408), .http5xx),
      (19, .whole, head(425), .http5xx), (19, .whole, head(599), .http5xx),
      (25, .whole, head(302), .protocol),
      (25, .whole, head(302, "Location: a", "Location: b"), .protocol),
      (nil, .whole, head(400), .http4xx), (nil, .whole, head(412), .http4xx),
      (nil, .whole, head(416), .http4xx), (nil, .whole, head(451), .http4xx),
      (nil, .whole, head(204), .protocol), (nil, .whole, head(300), .http4xx),
      (28, .whole, head(511), .proxy), (19, .whole, head(202), .http5xx),
      (nil, .whole, head(200, "Content-Length: 1", "Content-Length: 2"), .protocol),
      (nil, .whole, head(200, "Content-Length: 20001"), .tooLarge),
      (nil, .whole, head(200, "Content-Length: 9999"), .length),
    ] as [(Int?, RequestKind, ResponseHead, TransferError.Class)])
  func `failures and their classes`(
    _ row: Int?, _ asked: RequestKind, _ head: ResponseHead, _ errorClass: TransferError.Class
  ) throws {
    var state = TransferState(checkpoint: r)
    state.policy.maximumLength = 20_000
    state.policy.expectedLength = 10_000
    let ruling = decide(state, asked: asked, head: head, now: now)
    guard case .fail(let error) = ruling.verdict else {
      Issue.record("\(ruling)")
      return
    }
    #expect(ruling.row == row)
    #expect(error.errorClass == errorClass)
    #expect(error.status == head.status)
    #expect(error.retryAfter == head.retryAfter(now: now))
  }

  @Test func `a refusal behind a redirect goes back to the original URL once`() {
    var state = TransferState(checkpoint: r)
    #expect(state.answered(head(302, "Location: /x"), asked: resume, now: now).row == 25)
    #expect(state.answered(head(403), asked: resume, now: now) == TableDecision(18, .fromOriginal))
    _ = state.answered(head(302, "Location: /x"), asked: resume, now: now)
    #expect(state.answered(head(403), asked: resume, now: now) == TableDecision(27, .onceWhole))
    _ = state.answered(head(302, "Location: /x"), asked: .whole, now: now)
    let ruling = state.answered(head(403), asked: .whole, now: now)
    guard ruling.row == 18, case .fail = ruling.verdict else {
      Issue.record("not permanent: \(ruling)")
      return
    }
  }

  @Test func `what is tried once is not tried twice`() {
    var state = TransferState(checkpoint: r)
    #expect(state.answered(head(206, good), asked: resume, now: now).verdict == .oncePlainRange)
    #expect(state.answered(head(206, good), asked: plain, now: now).verdict == restart)
    state = TransferState(checkpoint: r)
    #expect(state.answered(head(206, good), asked: resume, now: now).verdict == .oncePlainRange)
    // A body from 0 breaks off, and its rest is asked for under If-Range again.
    #expect(state.answered(head(206, good), asked: resume, now: now).verdict == restart)
    state = TransferState(checkpoint: r)
    #expect(state.answered(head(416), asked: resume, now: now).verdict == .probe)
    #expect(state.answered(head(416), asked: .probe, now: now).verdict == restart)
    state = TransferState(checkpoint: r)
    let same = head(200, "Content-Length: 10000", tag)
    #expect(state.answered(same, asked: resume, now: now).verdict == .oncePlainRange)
    #expect(
      state.answered(same, asked: plain, now: now).verdict
        == .compare(representation(10_000), isSame: true, resumable: false))
    #expect(state.attempts.wholeOnly)
  }

  @Test func `after three changes nothing is resumed`() {
    var state = TransferState(checkpoint: r)
    for _ in 0..<3 {
      #expect(!state.attempts.wholeOnly)
      #expect(state.answered(head(206, good, other), asked: resume, now: now).row == 5)
    }
    #expect(state.attempts.changes == 3)
    #expect(state.attempts.wholeOnly)
    var tired = r
    tired.changes = 3
    var later = TransferState(checkpoint: tired)
    #expect(
      later.next()
        == .request(fields: [.init("Accept-Encoding", "identity")], asked: .whole))
  }
}

@Suite struct RequestTests {
  private func fields(_ step: Step) -> [String] {
    guard case .request(let fields, _) = step else { return [] }
    return fields.map { "\($0.name): \($0.value)" }
  }

  @Test func `a first request asks for everything as it is`() {
    var state = TransferState(checkpoint: nil)
    #expect(fields(state.next()) == ["Accept-Encoding: identity"])
  }

  @Test func `a resume asks for a closed range with overlap, under If-Range`() {
    var state = TransferState(checkpoint: r)
    let step = state.next()
    #expect(
      fields(step) == [
        "Accept-Encoding: identity", "Range: bytes=4096-9999", "If-Range: \"v\"",
      ])
    guard case .request(_, asked: resume) = step else {
      Issue.record("\(step)")
      return
    }
    state = TransferState(checkpoint: Record.dated)
    #expect(fields(state.next()).last == "If-Range: \(Record.date)")
  }

  @Test func `the overlap does not reach below 0, and a gap ends where durable bytes begin`() {
    var checkpoint = r
    checkpoint.durable = ByteRanges("{[0,100),[5000,6000)}") ?? ByteRanges()
    var state = TransferState(checkpoint: checkpoint)
    #expect(fields(state.next())[1] == "Range: bytes=0-4999")
  }

  @Test func `nothing is asked where nothing is missing, and no range of an unsafe host`() {
    var state = TransferState(checkpoint: Record.complete)
    #expect(state.next() == .verify)
    state = TransferState(checkpoint: r, rangeUnsafe: true)
    #expect(fields(state.next()) == ["Accept-Encoding: identity"])
    var unguarded = r
    unguarded.validator = nil
    state = TransferState(checkpoint: unguarded)
    #expect(fields(state.next()) == ["Accept-Encoding: identity"])
  }

  @Test func `plain range and probe carry no condition`() {
    var state = TransferState(checkpoint: r)
    state.attempts.mode = .plainRange
    #expect(fields(state.next()) == ["Accept-Encoding: identity", "Range: bytes=4096-9999"])
    state.attempts.mode = .probe
    #expect(fields(state.next()) == ["Accept-Encoding: identity", "Range: bytes=0-0"])
  }
}
