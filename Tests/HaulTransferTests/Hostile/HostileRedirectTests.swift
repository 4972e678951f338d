import HaulTransfer
import TestSupport
import Testing

/// Where an origin may send a download on to, at whichever hop, and what goes along.
@Suite(.timeLimit(.minutes(5)))
struct HostileRedirectTests {
  private static let targets: [(location: String, failure: TransferError.Class)] = [
    ("file:///etc/passwd", .blockedURL), ("ftp://127.0.0.1/", .blockedURL),
    ("FTP://127.0.0.1/", .blockedURL), ("javascript:0", .blockedURL),
    ("http://10.0.0.1/", .blockedAddress), ("http://0x0a000001/", .blockedAddress),
    ("http://[::ffff:10.0.0.1]/", .blockedAddress), ("//[::ffff:a9fe:a9fe]/", .blockedAddress),
    ("http://[64:ff9b::a00:1]/", .blockedAddress), ("http://[fe80::1]/", .blockedAddress),
    ("http://inner.test/", .blockedAddress), ("http://inner6.test/", .blockedAddress),
    ("http://name:word@127.0.0.1/", .blockedURL),
  ]

  @Test(arguments: targets.indices, 0..<3)
  func `no hop leads where none may lead`(_ index: Int, _ hop: Int) async throws {
    let (location, failure) = Self.targets[index]
    let origin = try OriginServer { request, reply in
      let number = Int(request.path.dropFirst()) ?? 0
      try reply.redirect(to: number == hop ? location : "/\(number + 1)")
    }
    var configuration = Engine.Configuration.test
    configuration.resolve = ["inner.test:80:10.0.0.1", "inner6.test:80:[::ffff:10.0.0.1]"]
    let bench = try DownloadBench(configuration)
    #expect(try await bench.download(origin.url("/0")) == .failure(failure))
    #expect(origin.asked.count == hop + 1)
  }

  @Test func `what a redirect carries is not read`() async throws {
    let origin = try OriginServer { request, reply in
      if request.path == "/here" { return try reply.answer("Content-Length: 5", "12345") }
      try reply.head("HTTP/1.1 302 Found\nLocation: /here")
      try reply.flood(String(repeating: "x", count: 65_536))
    }
    #expect(try await DownloadBench().download(origin.url("/")) == .text("12345"))
  }

  @Test func `a chain without end has one`() async throws {
    let origin = try OriginServer { request, reply in
      try reply.redirect(to: "/\(request.number)")
    }
    #expect(try await DownloadBench().download(origin.url("/")) == .failure(.redirects))
    #expect(origin.asked.count == 11)
  }

  @Test func `what proves who asks stays with the origin that the caller named`() async throws {
    let other = try OriginServer(address: "127.0.0.2") { _, reply in
      try reply.answer("Content-Length: 5", "12345")
    }
    let origin = try OriginServer { request, reply in
      try reply.redirect(to: request.path == "/" ? "/here" : other.url("/there"))
    }
    var options = DownloadOptions()
    options.credentials = [.init("Authorization", "Bearer secret"), .init("Cookie", "id=secret")]
    let bench = try DownloadBench()
    #expect(try await bench.download(origin.url("/"), options: options) == .text("12345"))
    for exchange in origin.log.value.exchanges {
      #expect(exchange.request[field: "Authorization"] == "Bearer secret")
      #expect(exchange.request[field: "Cookie"] == "id=secret")
    }
    let leaked = other.log.value.exchanges.flatMap(\.request.fields)
    #expect(!leaked.isEmpty && leaked.allSatisfy { !$0.value.contains("secret") })
  }

  /// As Tomcat does, it answers 400 to what RFC 3986 forbids. The Location has such characters too, and a byte of Latin-1.
  @Test func `what no URL may hold is not sent, whoever has written it`() async throws {
    let origin = try OriginServer { request, reply in
      guard request.target.utf8.allSatisfy({ $0 < 0x80 }),
        !request.target.contains(where: { #"{}|^"<>\[]`"#.contains($0) })
      else { return try reply.head("HTTP/1.1 400 Bad Request\nContent-Length: 0") }
      if request.path.hasPrefix("/there") { return try reply.answer("Content-Length: 5", "12345") }
      let location = Array("/there".utf8) + [0xe9] + Array("{1}|x[2].bin?q=^<y>".utf8)
      try reply.body(
        Array("HTTP/1.1 302 Found\r\nContent-Length: 0\r\nLocation: ".utf8) + location
          + Array("\r\n\r\n".utf8))
    }
    let url = origin.url(#"/a {b}|^"<>\[c]`%20?q={d}|^"<>\[e]` f"#)
    #expect(try await DownloadBench().download(url) == .text("12345"))
    #expect(
      origin.log.value.exchanges.map(\.request.target) == [
        "/a%20%7Bb%7D%7C%5E%22%3C%3E%5C%5Bc%5D%60%20?q=%7Bd%7D%7C%5E%22%3C%3E%5C%5Be%5D%60%20f",
        "/there%E9%7B1%7D%7Cx%5B2%5D.bin?q=%5E%3Cy%3E",
      ])
  }

  // MARK: - IPv6

  @Test func `an IPv6 address in brackets is an origin like any other`() async throws {
    let origin = try OriginServer(address: "::1") { request, reply in
      if request.path == "/" { return try reply.redirect(to: "/here") }
      try reply.answer("Content-Length: 5", "12345")
    }
    var configuration = Engine.Configuration.test
    let blocked = try DownloadBench(configuration)
    #expect(try await blocked.download(origin.url("/")) == .failure(.blockedAddress))
    #expect(origin.log.value.connections == 0)
    configuration.addressPolicy = AddressPolicy(allowing: [try #require(CIDR("::1"))])
    let bench = try DownloadBench(configuration)
    #expect(try await bench.download(origin.url("/")) == .text("12345"))
    #expect(
      origin.log.value.exchanges.map { $0.request[field: "Host"] } == [origin.host, origin.host])
  }
}
