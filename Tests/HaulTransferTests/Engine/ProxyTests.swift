import TestSupport
import Testing

@testable import HaulTransfer

/// Everything goes through the proxy, and nothing that is for one side reaches the other.
@Suite(.timeLimit(.minutes(5)))
struct ProxyTests {
  private func configuration(
    _ proxy: ProxyServer, _ scheme: String = "http", password: String? = nil
  ) throws -> Engine.Configuration {
    var configuration = Engine.Configuration()
    configuration.proxy = try ProxyAddress("\(scheme)://127.0.0.1:\(proxy.port)")
    let words = password?.split(separator: ":")
    if let words {
      configuration.netrc = try Netrc(
        "machine 127.0.0.1:\(proxy.port) login \(words[0]) password \(words[1])", name: "N")
    }
    return configuration
  }

  private func origin() throws -> OriginServer {
    try OriginServer { _, reply in
      try reply.head("HTTP/1.1 200 OK\nContent-Length: 5")
      try reply.body("12345")
    }
  }

  @Test func `HTTP goes through an HTTP proxy, which hears its own password`() async throws {
    let origin = try origin()
    let proxy = try ProxyServer(.http, password: "me:word")
    // A name that no DNS knows, and an address that is not public: the proxy's.
    let url = "http://name.test:\(origin.port)/a"
    try await withEngine(configuration(proxy, password: "me:word")) { engine in
      let (result, log) = await engine.fetch(url)
      #expect(result.outcome == .complete && log.bytes == Array("12345".utf8))
    }
    #expect(proxy.asked.value.map(\.target) == ["GET \(url)"])
    let fields = origin.log.value.exchanges[0].request.fields
    #expect(!fields.contains { $0.name.lowercased().hasPrefix("proxy") })
  }

  @Test(arguments: ["socks5h", "socks5"])
  func `SOCKS proxies are given names, or addresses`(scheme: String) async throws {
    let origin = try origin()
    let proxy = try ProxyServer(.socks, password: "me:word")
    var configuration = try configuration(proxy, scheme, password: "me:word")
    configuration.resolve = ["name.test:\(origin.port):127.0.0.1"]
    try await withEngine(configuration) { engine in
      let (result, log) = await engine.fetch("http://name.test:\(origin.port)/a")
      #expect(result.outcome == .complete && log.bytes == Array("12345".utf8))
    }
    let place = scheme == "socks5h" ? "name.test" : "127.0.0.1"
    #expect(proxy.asked.value.map(\.target) == ["SOCKS \(place):\(origin.port)"])
    #expect(proxy.asked.value.map(\.password) == ["me:word"])
  }

  @Test func `TLS goes through a tunnel, and what is for the origin stays in it`() async throws {
    let origin = try await TLSOrigin(files: ["small": Array("12345".utf8)])
    let proxy = try ProxyServer(.http, password: "me:word")
    var configuration = try configuration(proxy, password: "me:word")
    configuration.caFile = origin.caFile
    try await withEngine(configuration) { engine in
      let recorder = Recorder()
      let request = ExchangeRequest(
        url: origin.url("/small"), fields: [.init("Authorization", "Bearer hunter2")])
      let result = await engine.perform(request, sink: recorder)
      #expect(result.outcome == .complete && recorder.log.value.bytes == Array("12345".utf8))
      #expect(result.head?.status == 200)
    }
    let asked = proxy.asked.value
    #expect(asked.map(\.target) == ["CONNECT tls.test:\(origin.port)"])
    #expect(asked.allSatisfy { !$0.head.contains("hunter2") })
  }

  @Test(
    arguments: [
      (.http, "http", nil, 403, "https://h.test/", .proxy),
      (.http, "http", nil, 502, "https://h.test/", .connect),
      (.http, "http", "me:word", nil, "https://h.test/", .proxy),
      (.http, "http", "me:word", nil, "http://h.test/", .proxy),
      (.socks, "socks5h", "me:word", nil, "http://h.test/", .proxy),
      (.socks, "socks5h", nil, 2, "http://h.test/", .proxy),
      (.socks, "socks5h", nil, 5, "http://h.test/", .connect),
      (.socks, "socks5h", nil, 4, "https://h.test/", .connect),
    ] as [(ProxyServer.Kind, String, String?, Int?, String, TransferError.Class)])
  func `a proxy's trouble is told from the host's`(
    kind: ProxyServer.Kind, scheme: String, password: String?, refusal: Int?, url: String,
    failure: TransferError.Class
  ) async throws {
    let proxy = try ProxyServer(kind, password: password, refusal: refusal)
    try await withEngine(configuration(proxy, scheme, password: password == nil ? nil : "me:wrong"))
    { engine in
      let (result, _) = await engine.fetch(url)
      #expect(result.outcome.failure == failure, "\(result.outcome)")
      if case .failed(let error) = result.outcome { #expect(!error.message.contains("wrong")) }
    }
    #expect(proxy.asked.value.count >= (scheme == "socks5h" && password != nil ? 0 : 1))
  }

  @Test(arguments: ["http", "socks5h", "https"])
  func `a proxy that is not there is no trouble of the host's`(scheme: String) async throws {
    let closed = try ClosedPort()
    var configuration = Engine.Configuration()
    configuration.proxy = try ProxyAddress("\(scheme)://127.0.0.1:\(closed.port)")
    try await withEngine(configuration) { engine in
      for url in ["http://h.test/", "https://h.test/"] {
        let (result, _) = await engine.fetch(url)
        #expect(result.outcome.failure == .proxy, "\(result.outcome)")
      }
    }
  }

  @Test(arguments: [
    "http://10.0.0.1/", "https://169.254.169.254/", "http://[::1]/", "http://localhost/",
    "http://a.localhost./",
    "http://0x7f000001/", "http://127.0.0.1./", "http://[fe80::1%25eth0]/",
  ])
  func `no URL that spells out a private address goes to a proxy`(url: String) async throws {
    let proxy = try ProxyServer(.http)
    try await withEngine(configuration(proxy)) { engine in
      let (result, _) = await engine.fetch(url)
      #expect(result.outcome.failure == .blockedAddress, "\(result.outcome)")
    }
    #expect(proxy.asked.value == [])
  }

  @Test(arguments: [
    "http://2130706433./", "http://127.1./", "http://0x7f.0.0.1./", "http://0177.0.0.1./",
    "http://a.0x7f/",
  ])
  func `no host that a proxy may read as an address in another spelling goes to it`(
    url: String
  ) async throws {
    let proxy = try ProxyServer(.http)
    try await withEngine(configuration(proxy)) { engine in
      let (result, _) = await engine.fetch(url)
      #expect(
        [.blockedURL, .blockedAddress].contains(result.outcome.failure), "\(result.outcome)")
    }
    #expect(proxy.asked.value == [])
  }
}
