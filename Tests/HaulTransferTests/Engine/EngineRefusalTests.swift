import HaulTransfer
import TestSupport
import Testing

/// What is not fetched at all, and how that is told.
@Suite(.timeLimit(.minutes(5)))
struct EngineRefusalTests {
  private func origin() throws -> OriginServer {
    try OriginServer { _, reply in try reply.answer("Content-Length: 5", "12345") }
  }

  @Test(arguments: [
    "http://127.0.0.1:%/", "http://127.1:%/", "http://2130706433:%/",
    "http://[::ffff:127.0.0.1]:%/",
    "http://rebound.test:%/", "http://localhost:%/",
  ])
  func `a private address is refused before a connection is made`(_ form: String) async throws {
    let origin = try origin()
    var configuration = Engine.Configuration()
    configuration.resolve = ["rebound.test:\(origin.port):127.0.0.1"]
    try await withEngine(configuration) { engine in
      let url = form.replacing("%", with: "\(origin.port)")
      let (result, _) = await engine.fetch(url)
      #expect(result.outcome.failure == .blockedAddress)
      #expect(!result.refusedAddresses.isEmpty)
      #expect(result.primaryAddress == nil)
    }
    #expect(origin.log.value.connections == 0)
  }

  @Test func `of several addresses each one that is refused is named`() async throws {
    var configuration = Engine.Configuration()
    configuration.resolve = ["two.test:80:127.0.0.2,[::1]"]
    try await withEngine(configuration) { engine in
      let (result, _) = await engine.fetch("http://two.test/")
      let error = try #require(result.outcome.error)
      #expect(error.message == "the addresses 127.0.0.2 and ::1 are not public")
      #expect(
        "\(error)".hasSuffix(
          "; if you trust this address, set addressPolicy to allow 127.0.0.2/32 and ::1/128"),
        "\(error)")
    }
  }

  @Test func `where the allowed one does not answer, it is said which was not tried`() async throws
  {
    let origin = try origin()
    var configuration = Engine.Configuration()
    configuration.addressPolicy = AddressPolicy(allowing: [try #require(CIDR("127.0.0.2"))])
    // The origin listens at 127.0.0.1 alone.
    configuration.resolve = ["two.test:\(origin.port):127.0.0.2,127.0.0.1"]
    try await withEngine(configuration) { engine in
      let (result, _) = await engine.fetch("http://two.test:\(origin.port)/")
      let error = try #require(result.outcome.error)
      #expect(error.errorClass == .connect)
      #expect(
        error.description.hasSuffix(
          ". Haul skipped these addresses because they are not public: 127.0.0.1; if you trust this address, set addressPolicy to allow 127.0.0.1/32"
        ),
        "\(error)")
    }
  }

  @Test func `of several addresses the allowed one is used`() async throws {
    let origin = try origin()
    var configuration = Engine.Configuration()
    configuration.addressPolicy = AddressPolicy(allowing: [try #require(CIDR("127.0.0.1"))])
    configuration.resolve = ["two.test:\(origin.port):127.0.0.2,127.0.0.1"]
    try await withEngine(configuration) { engine in
      let (result, _) = await engine.fetch("http://two.test:\(origin.port)/")
      #expect(result.outcome == .complete)
      #expect(result.refusedAddresses == ["127.0.0.2"])
      #expect(result.primaryAddress == "127.0.0.1")
    }
  }

  @Test func `a connection opened for another request does not widen the policy`() async throws {
    let origin = try origin()
    try await withEngine { engine in
      #expect(await engine.fetch(origin.url("/1")).0.outcome == .complete)
      let strict = ExchangeRequest(url: origin.url("/2"), addressPolicy: .publicOnly)
      let result = await engine.perform(strict, sink: Recorder())
      #expect(result.outcome.failure == .blockedAddress)
      #expect(await engine.fetch(origin.url("/3")).0.outcome == .complete)
    }
    #expect(origin.log.value.exchanges.map(\.request.target) == ["/1", "/3"])
  }

  @Test(arguments: [
    "ftp://127.0.0.1/", "file:///etc/passwd", "gopher://127.0.0.1/", "not a url", "http://",
    "http://user:secret@127.0.0.1/",
  ])
  func `other schemes and credentials in URLs are refused`(_ url: String) async throws {
    try await withEngine { engine in
      let (result, _) = await engine.fetch(url)
      #expect(result.outcome.failure == .blockedURL)
    }
  }

  @Test func `a refused port is a connect failure that names the host`() async throws {
    let closed = try ClosedPort()
    try await withEngine { engine in
      let (result, _) = await engine.fetch("http://127.0.0.1:\(closed.port)/")
      let error = try #require(result.outcome.error)
      #expect(error.errorClass == .connect)
      #expect(error.host == "127.0.0.1:\(closed.port)")
    }
  }

  @Test func `a name that DNS does not answer is a dns failure and holds nobody up`() async throws {
    let origin = try origin()
    var configuration = Engine.Configuration.test
    configuration.connectTimeout = .seconds(1)
    try await withEngine(configuration) { engine in
      async let unknown = engine.fetch("http://no-such-host.invalid/")
      #expect(await engine.fetch(origin.url("/")).0.outcome == .complete)
      #expect(await unknown.0.outcome.failure == .dns)
    }
  }

  @Test(arguments: [
    ResponseHead.Field("X", "a\r\nHost: evil"), .init("X\nY", "a"), .init("", "a"),
    .init("X: Y", "a"), .init("X", "a\u{0}b"),
  ])
  func `a request field cannot smuggle in another`(_ field: ResponseHead.Field) async throws {
    let origin = try origin()
    try await withEngine { engine in
      let request = ExchangeRequest(url: origin.url("/"), fields: [field])
      let result = await engine.perform(request, sink: Recorder())
      #expect(result.outcome.failure == .protocol)
    }
    #expect(origin.log.value.connections == 0)
  }
}
