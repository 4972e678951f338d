import TestSupport
import Testing

@testable import HaulTransfer

/// The decision table from the request to the bytes on disk: 10,000 of 20,000 bytes are there already.
@Suite(.timeLimit(.minutes(5)))
struct PartTransferRowTests {
  static let old = Source(seed: 1, length: 20_000)
  static let new = Source(seed: 2, length: 20_000)

  /// Answers in order, and what they must lead to.
  struct Case: Sendable, CustomTestStringConvertible {
    var testDescription: String
    var answers: [OriginServer.Handler]
    /// What is asked of the origin, in order.
    var asks: [String]
    var rulings: [String]
    /// What the file holds at the end; nil where the transfer fails.
    var result: Source?
    var failure: TransferError.Class?
    var isRangeUnsafe = false
    var changes = 0

    init(
      _ name: String, _ rulings: [String], asks: [String] = ["5904-19999 if", "whole"],
      gives result: Source? = nil, fails failure: TransferError.Class? = nil,
      unsafe isRangeUnsafe: Bool = false, changes: Int = 0, _ answers: [OriginServer.Handler]
    ) {
      testDescription = name
      self.rulings = rulings
      self.asks = asks
      self.result = result
      self.failure = failure
      self.isRangeUnsafe = isRangeUnsafe
      self.changes = changes
      self.answers = answers
    }
  }

  /// A 206 for what was asked, with this Content-Range and the bytes of `source`.
  private static func told(_ contentRange: String, of source: Source = old)
    -> OriginServer.Handler
  {
    { _, reply in
      try source.part(reply, 5904..<20_000, told: contentRange, "ETag: \(old.entityTag ?? "")")
    }
  }

  private static func status(_ line: String, _ fields: String = "") -> OriginServer.Handler {
    { _, reply in try reply.head("HTTP/1.1 \(line)\nContent-Length: 0\n\(fields)") }
  }

  private static let whole: OriginServer.Handler = { _, reply in try old.whole(reply) }
  private static let wholeNew: OriginServer.Handler = { _, reply in try new.whole(reply) }
  private static let correct: OriginServer.Handler = { request, reply in
    try old.answer(request, reply)
  }

  private static let unusable: [Case] = [
    ("multipart", "Content-Type: multipart/byteranges; boundary=x"),
    ("no Content-Range", "X: y"),
    ("two Content-Ranges", "Content-Range: bytes 5904-19999/20000\nContent-Range: bytes 0-9/10"),
    ("unparsable", "Content-Range: bytes 5904-/20000"),
    ("not bytes", "Content-Range: items 5904-19999/20000"),
  ].map { name, fields in
    Case(
      "1: \(name)", ["1 restart"], gives: old, unsafe: true,
      [
        { _, reply in
          try reply.head(
            "HTTP/1.1 206 Partial Content\nETag: \"1-20000\"\nContent-Length: 14096\n\(fields)")
          try reply.body(old.pattern.bytes(in: 5904..<20_000))
        }, whole,
      ])
  }

  private static let ranges: [Case] = [
    Case("2: as asked", ["2 accept"], asks: ["5904-19999 if"], gives: old, [correct]),
    Case(
      "2: ends early, the rest is asked for", ["2 accept", "2 rest", "2 accept"],
      asks: ["5904-19999 if", "7904-19999 if"], gives: old,
      [{ _, reply in try old.part(reply, 5904..<12_000) }, correct]),
    Case(
      "2: three answers without progress",
      ["2 accept", "2 rest", "2 accept", "2 rest", "2 accept", "2 restart"],
      asks: ["5904-19999 if", "5904-19999 if", "5904-19999 if", "whole"], gives: old,
      Array(repeating: { _, reply in try old.part(reply, 5904..<10_000) }, count: 3) + [whole]),
    Case(
      "3: starts early", ["3 accept"], asks: ["5904-19999 if"], gives: old,
      [{ _, reply in try old.part(reply, 0..<20_000) }]),
    Case(
      "3: starts early, and what is there differs", ["3 accept", "5 changed"], gives: new,
      changes: 1,
      [
        { _, reply in
          try new.part(reply, 0..<20_000, "ETag: \(old.entityTag ?? "")")
        }, wholeNew,
      ]),
    Case(
      "4: starts late", ["4 restart"], gives: old, unsafe: true,
      [{ _, reply in try old.part(reply, 10_000..<20_000) }, whole]),
    Case(
      "4: ends late", ["4 restart"], gives: old, unsafe: true, [told("5904-20000/20001"), whole]),
    Case(
      "4: another length than its range", ["4 restart"], gives: old, unsafe: true,
      [told("5904-12000/20000"), whole]),
    Case(
      "5: another complete length", ["5 changed"], gives: new, changes: 1,
      [told("5904-19999/30000"), wholeNew]),
    Case(
      "5: another validator", ["5 changed"], gives: new, changes: 1,
      [{ _, reply in try new.part(reply, 5904..<20_000) }, wholeNew]),
    Case(
      "5: another overlap", ["2 accept", "5 changed"], gives: new, changes: 1,
      [told("5904-19999/20000", of: new), wholeNew]),
    Case(
      "6: no complete length", ["6 accept"], asks: ["5904-19999 if"], gives: old,
      [told("5904-19999/*")]),
    Case(
      "6: nor a validator", ["6 restart"], gives: old,
      [{ _, reply in try old.part(reply, 5904..<20_000, told: "5904-19999/*", "X: y") }, whole]),
    Case(
      "7: no validator, twice", ["7 once_more", "7 restart"],
      asks: ["5904-19999 if", "5904-19999", "whole"], gives: old,
      Array(repeating: { _, reply in try old.part(reply, 5904..<20_000, "X: y") }, count: 2)
        + [whole]),
    Case(
      "7: no validator, once", ["7 once_more", "2 accept"],
      asks: ["5904-19999 if", "5904-19999"], gives: old,
      [{ _, reply in try old.part(reply, 5904..<20_000, "X: y") }, correct]),
    Case(
      "8: another encoding", ["8 restart"], gives: old,
      [
        { _, reply in
          try old.part(reply, 5904..<20_000, "ETag: \"1-20000\"\nContent-Encoding: gzip")
        }, whole,
      ]),
  ]

  private static let others: [Case] = [
    Case(
      "10: the same whole, then the range after all", ["10 once_more", "2 accept"],
      asks: ["5904-19999 if", "5904-19999"], gives: old, [whole, correct]),
    Case(
      "10: the same whole, twice", ["10 once_more", "10 compare"],
      asks: ["5904-19999 if", "5904-19999"], gives: old, [whole, whole]),
    Case(
      "11: another validator", ["11 changed"], asks: ["5904-19999 if"], gives: new, changes: 1,
      [wholeNew]),
    Case(
      "11: as long as what is there", ["11 once_more"],
      gives: Source(seed: 3, length: 10_000),
      Array(
        repeating: { _, reply in try Source(seed: 3, length: 10_000).whole(reply) }, count: 2)),
    Case(
      "12: a page", ["12 once_more", "12 suspect"], fails: .suspectPage,
      Array(
        repeating: { _, reply in
          try reply.answer("Content-Type: text/html\nContent-Length: 5", "login")
        }, count: 2)),
    Case(
      "14: 416 of another length", ["14 changed"], gives: new, changes: 1,
      [status("416 Range Not Satisfiable", "Content-Range: bytes */30000"), wholeNew]),
    Case(
      "15: 416, and the source is the same", ["15 probe", "15 rest", "2 accept"],
      asks: ["5904-19999 if", "0-0", "5904-19999 if"], gives: old,
      [status("416 Range Not Satisfiable"), correct, correct]),
    Case(
      "15: 416, and the source is another", ["15 probe", "5 changed"],
      asks: ["5904-19999 if", "0-0", "whole"], gives: new, changes: 1,
      [
        status("416 Range Not Satisfiable", "Content-Range: bytes */20000"),
        { request, reply in try new.answer(request, reply) }, wholeNew,
      ]),
    Case(
      "15: 416, again and again", ["15 probe", "15 restart"],
      asks: ["5904-19999 if", "0-0", "whole"], gives: old,
      [status("416 Range Not Satisfiable"), status("416 Range Not Satisfiable"), whole]),
    Case(
      "16: 412", ["16 changed"], gives: new, changes: 1,
      [status("412 Precondition Failed"), wholeNew]),
    Case(
      "17: 304 unasked", ["17 fail"], gives: old,
      [{ _, reply in try reply.head("HTTP/1.1 304 Not Modified") }, whole]),
    Case(
      "27: 404", ["27 once_more"], fails: .http404,
      Array(repeating: status("404 Not Found"), count: 2)),
    Case("19: 500", ["19 fail"], asks: ["5904-19999 if"], fails: .http5xx, [status("500 No")]),
    Case(
      "20, 24: broken off twice", ["2 accept", "24 rest", "2 accept", "24 rest", "2 accept"],
      asks: ["5904-19999 if", "6904-19999 if", "7904-19999 if"], gives: old,
      [
        { request, reply in try old.answer(request, reply, cut: .close(after: 5096)) },
        { request, reply in try old.answer(request, reply, cut: .reset(after: 5096)) }, correct,
      ]),
    Case(
      "22: chunks without the last one", ["2 accept", "24 rest", "2 accept"],
      asks: ["5904-19999 if", "7904-19999 if"], gives: old,
      [
        { _, reply in
          try reply.head(
            "HTTP/1.1 206 Partial Content\nContent-Range: bytes 5904-19999/20000\n"
              + "Transfer-Encoding: chunked\nETag: \"1-20000\"")
          try reply.chunk(old.pattern.bytes(in: 5904..<12_000))
          reply.close()
        }, correct,
      ]),
    Case(
      "21: more than its range", ["2 accept", "21 restart"], gives: old,
      [
        { _, reply in
          try reply.head(
            "HTTP/1.1 206 Partial Content\nContent-Range: bytes 5904-19999/20000\n"
              + "Transfer-Encoding: chunked\nETag: \"1-20000\"")
          try reply.chunk(old.pattern.bytes(in: 5904..<20_000))
          try reply.chunk(Array("more".utf8))
          try reply.chunk([])
        }, whole,
      ]),
  ]

  @Test(arguments: unusable + ranges + others)
  func `a resumed transfer`(_ row: Case) async throws {
    let origin = try OriginServer(answering: row.answers)
    let bench = try PartTransferBench()
    try await withEngine { engine in
      let transfer = try bench.transfer(origin.url("/file"), engine: engine) { order in
        order.resuming = try bench.earlier(of: Self.old, durable: 10_000)
      }
      let outcome = await transfer.run()
      #expect(origin.asked == row.asks)
      #expect(bench.rulings.value == row.rulings)
      if let result = row.result {
        #expect(try outcome.holds(result))
      } else {
        #expect(outcome.error?.errorClass == row.failure)
        #expect(outcome.error?.host == origin.host)
        #expect(bench.scratch.exists("parts/part"))
      }
      let report = transfer.report
      #expect(report.isRangeUnsafe == row.isRangeUnsafe)
      #expect(report.changes == row.changes)
      // The same file continues the part, also where all of it came.
      let isReplaced =
        row.changes > 0 || row.result.map { $0.pattern.seed != Self.old.pattern.seed } == true
      #expect(report.leftover == (isReplaced ? ["part"] : []))
      let isAnew =
        row.result != nil && row.asks.last == "whole" || row.rulings.last == "10 compare"
      #expect(report.resumedAt == (isAnew || isReplaced ? 0 : 10_000))
    }
  }

  /// Where the date is not the recorded one, or not told at all, the disk has another representation of the same length, which
  /// agrees where the overlap looks.
  @Test(
    arguments: [
      (
        nil, ["7 once_more", "7 restart", "12 once_more"],
        ["5904-19999 if", "5904-19999", "whole", "whole"]
      ),
      (1_000_000_000, ["7 once_more", "2 accept"], ["5904-19999 if", "5904-19999"]),
      (
        1_000_000_099, ["7 once_more", "5 changed", "12 once_more"],
        ["5904-19999 if", "5904-19999", "whole", "whole"]
      ),
    ] as [(Int64?, [String], [String])])
  func `7: a date that is not repeated under If-Range has to be without`(
    _ told: Int64?, _ rulings: [String], _ asks: [String]
  ) async throws {
    var dated = Self.old
    dated.entityTag = nil
    dated.lastModified = 1_000_000_000
    let source = dated
    let date = told.map { "Last-Modified: \(httpDate($0))" } ?? "X: y"
    let origin = try OriginServer(answering: [
      { _, reply in try source.part(reply, 5904..<20_000, "X: y") },
      { _, reply in try source.part(reply, 5904..<20_000, date) },
      { _, reply in try source.whole(reply) }, { _, reply in try source.whole(reply) },
    ])
    let bench = try PartTransferBench()
    try await withEngine { engine in
      let transfer = try bench.transfer(origin.url("/"), engine: engine) { order in
        let earlier = try bench.earlier(of: source, durable: 10_000)
        if told != source.lastModified {
          try Array("older".utf8).withUnsafeBytes { try earlier.part.write($0, at: 1000) }
        }
        order.resuming = earlier
      }
      #expect(try await transfer.run().holds(source))
      #expect(bench.rulings.value == rulings)
      #expect(origin.asked == asks)
      #expect(origin.log.value.exchanges[0].request[field: "If-Range"] == httpDate(1_000_000_000))
    }
  }

  @Test func `13: what is all there is not asked for`() async throws {
    let origin = try OriginServer(answering: [])
    let bench = try PartTransferBench()
    try await withEngine { engine in
      let transfer = try bench.transfer(origin.url("/"), engine: engine) { order in
        order.resuming = try bench.earlier(of: Self.old, durable: 20_000)
      }
      #expect(try await transfer.run().holds(Self.old))
      #expect(origin.asked.isEmpty)
      #expect(transfer.report.resumedAt == 20_000)
    }
  }

  @Test func `after three changes there are whole downloads only, and they may succeed`()
    async throws
  {
    let source = Watched(0)
    // Every answer is cut short, and every further question meets another representation.
    let origin = try OriginServer { request, reply in
      let count = source.update { count in
        count += 1
        return count
      }
      let now = Source(seed: UInt64(count), length: 20_000)
      try now.answer(request, reply, cut: count < 4 ? .close(after: 10_000) : nil)
    }
    let bench = try PartTransferBench()
    try await withEngine { engine in
      let transfer = try bench.transfer(origin.url("/"), engine: engine)
      #expect(try await transfer.run().holds(Source(seed: 4, length: 20_000)))
      #expect(transfer.report.changes == 3)
      #expect(transfer.report.leftover == ["part", "part.1", "part.2"])
    }
  }
}
