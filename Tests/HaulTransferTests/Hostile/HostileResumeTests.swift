import HaulTransfer
import TestSupport
import Testing

/// A download that broke after 10,000 of 20,000 bytes, and what it meets when it goes on.
@Suite(.timeLimit(.minutes(5)))
struct HostileResumeTests {
  static let source = Source(seed: 1, length: 20_000)
  private static let rest = "5904-19999 if"

  /// The first answer breaks off after 10,000 bytes; then come `answers`.
  private func origin(
    _ source: Source = source, _ answers: OriginServer.Handler...
  ) throws -> OriginServer {
    try OriginServer(
      answering: [{ try source.answer($0, $1, cut: .close(after: 10_000)) }] + answers)
  }

  @Test(arguments: [
    "bytes */*", "bytes */20000", "bytes", "bytes 5904-19999/-1", "bytes 19999-5904/20000",
    "bytes 5904-19999/20000/20000", "pages 1-2/3", "bytes 99999999999999999999-1/2", "",
  ])
  func `a range that says nothing is not used`(_ field: String) async throws {
    let origin = try origin(
      Self.source, { _, reply in try Self.source.part(reply, 5904..<20_000, told: field) },
      Self.source.handler)
    let bench = try DownloadBench()
    #expect(try await bench.download(origin.url("/")) == Self.source.result)
    #expect(origin.asked == ["whole", Self.rest, "whole"])
  }

  @Test func `a page to log in leaves the part for the day when the file is back`() async throws {
    let page: OriginServer.Handler = { _, reply in
      try reply.answer("Content-Type: text/html\nContent-Length: 5", "login")
    }
    let origin = try origin(Self.source, page, page, Self.source.handler)
    let bench = try DownloadBench()
    let download = bench.downloader.start(origin.url("/"), to: bench.directory.path("a"))
    #expect(try await bench.settled(download) == .failure(.suspectPage))
    let data = try #require(download.resumeData)
    #expect(data.bytes == 10_000)
    let again = bench.downloader.start(resumingFrom: data, to: bench.directory.path("a"))
    #expect(try await bench.settled(again) == Self.source.result)
    #expect(origin.asked == ["whole", Self.rest, "whole", Self.rest])
  }

  @Test func `a body that stops is gone on with where it stopped`() async throws {
    var configuration = Engine.Configuration.test
    configuration.stallTime = .seconds(1)
    let origin = try OriginServer(answering: [
      { _, reply in
        try reply.head("HTTP/1.1 200 OK\n" + Self.source.fields(of: 0..<20_000))
        try reply.body(Self.source.bytes(in: 0..<10_000))
        try reply.waitUntilPeerCloses()
      }, Self.source.handler,
    ])
    let bench = try DownloadBench(configuration)
    let download = bench.downloader.start(origin.url("/"), to: bench.directory.path("a"))
    #expect(try await bench.settled(download) == .failure(.timeout))
    let data = try #require(download.resumeData)
    let again = bench.downloader.start(resumingFrom: data, to: bench.directory.path("a"))
    #expect(try await bench.settled(again) == Self.source.result)
    #expect(origin.asked == ["whole", Self.rest])
  }

  /// What an origin says of a version of its file, and whether that is enough to go on.
  private static let validators: [(tag: String?, modified: Int64?, isEnough: Bool)] = [
    ("\"strong\"", nil, true), ("W/\"weak\"", nil, false), ("unquoted", nil, true),
    (nil, 1_000_000_000, true), ("W/\"weak\"", 1_000_000_000, false),
    // Not yet a minute old: it may change again within the second.
    (nil, 4_000_000_000, false), (nil, nil, false),
  ]

  @Test(arguments: validators.indices)
  func `only what tells versions apart is gone on by`(_ index: Int) async throws {
    let (tag, modified, isEnough) = Self.validators[index]
    var source = Self.source
    (source.entityTag, source.lastModified) = (tag, modified)
    let origin = try origin(source, source.handler)
    let bench = try DownloadBench()
    let download = bench.downloader.start(origin.url("/"), to: bench.directory.path("a"))
    let result = try await bench.settled(download)
    #expect(result == (isEnough ? source.result : .failure(.interrupted)))
    let rest = tag == "unquoted" ? Self.rest.replacing(" if", with: "") : Self.rest
    #expect(origin.asked == (isEnough ? ["whole", rest] : ["whole"]))
    #expect(download.resumeData == nil)
    guard isEnough else { return }
    let condition = origin.log.value.exchanges[1].request[field: "If-Range"]
    // No condition can be made of what is no entity tag.
    #expect(condition == (tag == "unquoted" ? nil : tag ?? modified.map(httpDate)))
  }

  /// What the answer to the range says besides a weak tag and a date, and whether the rest goes on from it.
  enum WeakAnswer: CaseIterable {
    case same, otherTag, otherDate, otherLength, otherBytes, noTag, noDate
  }

  /// A weak tag does not say that two answers agree in each byte. Tag, date, length and 64 KiB of bytes have to.
  @Test(arguments: WeakAnswer.allCases)
  func `a weak tag is gone on by where all else agrees`(_ kind: WeakAnswer) async throws {
    var source = Source(seed: 1, length: 300_000)
    (source.entityTag, source.lastModified) = ("W/\"1\"", 1_000_000_000)
    var other = source
    // Beyond the 4 KiB that are enough for a strong tag.
    if kind == .otherBytes { other.edits = [(40_000..<40_100, Pattern(seed: 9))] }
    let told = "34464-299999/\(kind == .otherLength ? 300_001 : 300_000)"
    let fields = [
      kind == .noTag ? nil : "ETag: W/\"\(kind == .otherTag ? 2 : 1)\"",
      kind == .noDate
        ? nil : "Last-Modified: \(httpDate(kind == .otherDate ? 1_000_000_001 : 1_000_000_000))",
    ].compactMap(\.self).joined(separator: "\n")
    let (first, second) = (source, other)
    let origin = try OriginServer(answering: [
      { try first.answer($0, $1, cut: .close(after: 100_000)) },
      { _, reply in
        try reply.head(
          "HTTP/1.1 206 Partial Content\nContent-Range: bytes \(told)\nContent-Length: 265536\n"
            + fields)
        try reply.body(second.bytes(in: 34_464..<300_000))
      },
      { _, reply in try second.whole(reply) },
    ])
    #expect(try await DownloadBench().download(origin.url("/")) == second.result)
    #expect(origin.asked == ["whole", "34464-299999"] + (kind == .same ? [] : ["whole"]))
  }

  /// In a form of curl's, not of the standard's.
  @Test func `a date is repeated as it was received`() async throws {
    let date = "Sun, 6 Nov 1994 08:48:37 +0000"
    let origin = try OriginServer(answering: [
      { _, reply in
        try reply.head(
          "HTTP/1.1 200 OK\nDate: \(httpDate(1_000_000_000))\nLast-Modified: \(date)\nContent-Length: 20000"
        )
        try reply.body(Self.source.bytes(in: 0..<10_000))
        reply.close()
      },
      { _, reply in
        try Self.source.part(reply, 5904..<20_000, "Last-Modified: \(date)")
      },
    ])
    #expect(try await DownloadBench().download(origin.url("/")) == Self.source.result)
    #expect(origin.log.value.exchanges.last?.request[field: "If-Range"] == date)
  }

  @Test func `a tag that is new each time is not gone on by, and does not stand in the way`()
    async throws
  {
    let origin = try OriginServer { request, reply in
      var source = Self.source
      source.entityTag = "\"\(request.number)\""
      try source.answer(request, reply, cut: request.number < 4 ? .reset(after: 10_000) : nil)
    }
    let bench = try DownloadBench()
    #expect(try await bench.download(origin.url("/")) == Self.source.result)
    #expect(origin.asked == ["whole"] + Array(repeating: Self.rest, count: 2) + [Self.rest])
  }
}
