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
