import Testing

@testable import HaulTransfer

/// What is kept of a source, the question made of it, and the answers.
struct SourceRecordTests {
  private static let date = "Sun, 06 Nov 1994 08:48:37 GMT"
  private static let later = "Date: Sun, 06 Nov 1994 09:49:37 GMT"
  private static let soon = "Date: Sun, 06 Nov 1994 08:48:47 GMT"

  private static func record(of head: ResponseHead, resource: String? = nil) -> SourceRecord {
    SourceRecord(
      validator: Validator(head, now: HTTPDate.now), mediaType: head.mediaType, head: head,
      resource: resource)
  }

  @Test(
    arguments: [
      (["ETag: \"v\""], "If-None-Match: \"v\""),
      (["ETag: W/\"v\""], "If-None-Match: W/\"v\""),
      (["ETag: \"v\"", "Last-Modified: \(date)", later], "If-None-Match: \"v\""),
      (["Last-Modified: \(date)", later], "If-Modified-Since: \(date)"),
      // A second change within the same minute would hide behind the first.
      (["Last-Modified: \(date)", soon], nil),
      (["Last-Modified: \(date)"], "If-Modified-Since: \(date)"),
      // For a tag that is none the date stands in; for two it does not.
      (["ETag: v", "Last-Modified: \(date)", later], "If-Modified-Since: \(date)"),
      (["ETag: \"v\"", "ETag: \"w\"", "Last-Modified: \(date)", later], nil),
      (["ETag: w/\"v\""], nil), ([], nil),
    ] as [([String], String?)])
  func `the question that an answer allows later`(lines: [String], asks: String?) {
    let head = ResponseHead(status: 200, fields: lines.flatMap(fields))
    let record = Self.record(of: head)
    #expect(record.condition.map { "\($0.name): \($0.value)" } == asks)
    #expect(SourceRecord(fields: record.fields) == record)
  }

  @Test(
    arguments: [
      ("\"v\"", [], true), ("\"v\"", ["ETag: \"v\""], true), ("\"v\"", ["ETag: W/\"v\""], true),
      ("W/\"v\"", ["ETag: \"v\""], true), ("\"v\"", ["ETag: \"w\""], false),
      ("\"v\"", ["ETag: \"v\"", "ETag: \"w\""], false), ("\"v\"", ["ETag: v"], false),
      ("\"v\"", ["Last-Modified: \(date)"], true), (date, ["Last-Modified: \(date)"], true),
      (date, ["Last-Modified: Sun, 06 Nov 1994 08:48:36 GMT"], false), (date, [], true),
      (date, ["ETag: \"v\""], true),
    ] as [(String, [String], Bool)])
  func `row 17: a 304 that repeats another validator speaks of something else`(
    validator: String, lines: [String], isMeant: Bool
  ) {
    let name = validator == Self.date ? "modified" : "etag"
    var state = TransferState(checkpoint: nil)
    state.present = SourceRecord(fields: [name: validator])
    let head = ResponseHead(status: 304, fields: lines.flatMap(fields))
    let ruling = state.answered(head, asked: .ifChanged, now: HTTPDate.now)
    #expect(
      ruling == TableDecision(17, isMeant ? .unchanged : .restart(markRangeUnsafe: false)))
    // What could not be believed is not asked again.
    #expect((state.condition(at: nil) != nil) == isMeant)
  }

  @Test func `nothing is conditional but the first question, at the address that it is about`() {
    var state = TransferState(checkpoint: nil)
    #expect(state.condition(at: nil) == nil)
    state.present = SourceRecord(fields: ["etag": "\"v\"", "url": "00"])
    #expect(state.condition(at: nil) == nil && state.condition(at: "11") == nil)
    #expect(state.condition(at: "00")?.value == "\"v\"")
    state.checkpoint = Checkpoint(
      completeLength: 1, validator: nil, durable: ByteRanges(), part: "1-1", inode: 1)
    #expect(state.condition(at: "00") == nil)
  }

  @Test(
    arguments: [
      ("application/zip", "Content-Type: text/html", true),
      ("text/html", "Content-Type: text/html", false),
      (nil, "Content-Type: text/html", true),
      ("application/zip", "Content-Type: image/png", true),
      ("application/zip", "Content-Type: application/zip", false),
      ("application/zip", "X: y", false),
    ] as [(String?, String, Bool)])
  func `row 12: what has another type does not replace a file`(
    old: String?, line: String, isSuspect: Bool
  ) {
    var state = TransferState(checkpoint: nil)
    state.present = SourceRecord(fields: ["etag": "\"v\"", "type": old].compactMapValues(\.self))
    let ruling = decide(
      state, asked: .ifChanged, head: head(200, line, "ETag: \"w\""), now: HTTPDate.now)
    #expect((ruling.row == 12) == isSuspect)
    if case .suspect(_, let error) = ruling.verdict { #expect(error.errorClass == .suspectPage) }
  }

  /// Unless it has no validator of its own, or another type than the file.
  @Test(
    arguments: [
      (30, "application/zip", "ETag: \"w\"", false), (61, "application/zip", "ETag: \"w\"", true),
      (61, "application/zip", "X: y", false), (61, "text/plain", "ETag: \"w\"", false),
    ] as [(Int64, String, String, Bool)])
  func `row 12: what comes again after a minute replaces a finished file`(
    age: Int64, type: String, field: String, isTaken: Bool
  ) {
    let now = HTTPDate(seconds: 1_767_225_600)
    let short = head(200, "Content-Type: \(type)", "Content-Length: 5", field)
    var state = TransferState(checkpoint: nil)
    state.present = SourceRecord(
      fields: ["etag": "\"v\"", "type": "application/zip", "length": "90000"])
    let first = state.answered(
      short, asked: .ifChanged, now: HTTPDate(seconds: now.seconds - age))
    guard first.row == 12, case .suspect = first.verdict else {
      Issue.record("\(first)")
      return
    }
    // As another process would, from what is kept beside the file.
    var later = TransferState(checkpoint: nil)
    later.present = state.present.map { SourceRecord(fields: $0.fields) }
    let second = later.answered(short, asked: .ifChanged, now: now)
    #expect(second.row == 12)
    if case .changedUseBody = second.verdict {
      #expect(isTaken)
    } else {
      #expect(!isTaken)
    }
  }

  @Test func `a 412 and a 416 say nothing of a question without a range`() {
    var state = TransferState(checkpoint: nil)
    state.present = SourceRecord(fields: ["etag": "\"v\""])
    for status in [412, 416, 206] {
      guard
        case .fail = decide(state, asked: .ifChanged, head: head(status), now: HTTPDate.now).verdict
      else {
        Issue.record("\(status)")
        continue
      }
    }
  }
}

/// The fields of a head written as lines.
private func fields(_ line: String) -> [ResponseHead.Field] { head(200, line).fields }
