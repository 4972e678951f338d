import TestSupport
import Testing

@testable import HaulTransfer

/// What each request has taken.
@Suite(.timeLimit(.minutes(5)))
struct RequestMetricsTests {
  private let directory: TemporaryDirectory

  init() throws {
    directory = try TemporaryDirectory()
  }

  @Test func `each request is measured, a redirect and a refusal too`() async throws {
    let origin = try OriginServer { request, reply in
      switch request.path {
      case "/moved": try reply.head("HTTP/1.1 302 Go\nLocation: /a\nContent-Length: 0")
      case "/none": try reply.head("HTTP/1.1 404 None\nContent-Length: 0")
      default: try reply.text("hello")
      }
    }
    let downloader = try Downloader(.test)
    let download = downloader.start(origin.url("/moved"), to: directory.path("a"))
    _ = try await download.value
    let requests = download.metrics.requests
    #expect(requests.map(\.url) == [origin.url("/moved"), origin.url("/a")])
    #expect(requests.map(\.status) == [302, 200] && requests.map(\.received) == [0, 5])
    #expect(requests.map(\.isReusedConnection) == [false, true])
    for request in requests {
      #expect(request.protocolVersion == "HTTP/1.1")
      #expect(request.remoteAddress == IPAddress("127.0.0.1"))
      #expect(request.remotePort == Int(origin.port))
      #expect(request.tls == nil)
      let first = try #require(request.firstByte)
      #expect(first <= request.total && request.total > .zero)
    }
    #expect(requests[0].connect != nil && requests[1].connect == nil)
    #expect(requests[1].nameLookup == nil)

    let failed = downloader.start(origin.url("/none"), to: directory.path("b"))
    _ = await failed.result
    #expect(failed.metrics.requests.map(\.status) == [404])
  }

  @Test func `TLS and HTTP/2 show`() async throws {
    let origin = try await TLSOrigin(files: ["small": Array("12345".utf8)])
    var configuration = Downloader.Configuration.test
    configuration.resolve = ["tls.test:\(origin.port):127.0.0.1"]
    configuration.caFile = origin.caFile
    let downloader = try Downloader(configuration)
    var requests: [RequestMetrics] = []
    for name in ["a", "b"] {
      let download = downloader.start(origin.url("/small"), to: directory.path(name))
      _ = try await download.value
      requests += download.metrics.requests
    }
    #expect(requests.map(\.protocolVersion) == ["HTTP/2", "HTTP/2"])
    #expect(requests.map(\.isReusedConnection) == [false, true])
    #expect(requests[0].tls != nil && requests[1].tls == nil)
  }

  @Test func `a connection that nobody accepts has no answer`() async throws {
    let closed = try ClosedPort()
    let downloader = try Downloader(.test)
    let download = downloader.start(
      "http://\(closed.address):\(closed.port)/", to: directory.path("a"))
    _ = await download.result
    let request = try #require(download.metrics.requests.first)
    #expect(request.status == nil && request.protocolVersion == nil && request.firstByte == nil)
    #expect(request.remoteAddress == nil && !request.isReusedConnection)
  }

  @Test func `a download keeps the last hundred`() {
    var spent = Download.Spent()
    for number in 1...102 { spent.add(RequestMetrics(url: "http://a.test/\(number)")) }
    let urls = spent.metrics(fetched: 0, now: .now).requests.map(\.url)
    #expect(urls.count == 100 && urls[0] == "http://a.test/3" && urls[99] == "http://a.test/102")
  }
}
