import TestSupport
import Testing

@testable import HaulTransfer

/// What proves who asks, by where a request goes.
@Suite(.timeLimit(.minutes(5)))
struct IdentityTests {
  private func origin(_ address: String, redirect: String? = nil) throws -> OriginServer {
    try OriginServer(address: address) { _, reply in
      if let redirect { return try reply.redirect(to: redirect) }
      try reply.answer("Content-Length: 5", "12345")
    }
  }

  @Test func `a netrc's password stays with its host, and cookies go to theirs`() async throws {
    let there = try origin("127.0.0.2")
    let home = try origin("127.0.0.1", redirect: there.url("/there"))
    var configuration = Engine.Configuration.test
    configuration.netrc = try Netrc(
      "machine \(home.host) login a password home machine \(there.host) login b password there",
      name: "N")
    configuration.cookies = CookieFile(
      "127.0.0.1\tFALSE\t/\tFALSE\t0\tid\thome\n127.0.0.2\tFALSE\t/\tFALSE\t0\tid\tthere")
    #expect(try await DownloadBench(configuration).download(home.url("/")) == .text("12345"))
    let first = home.log.value.exchanges[0].request
    #expect(first[field: "Authorization"] == "Basic YTpob21l")
    #expect(first[field: "Cookie"] == "id=home")
    let second = there.log.value.exchanges[0].request
    // Its own: the entry names the port.
    #expect(second[field: "Authorization"] == "Basic Yjp0aGVyZQ==")
    #expect(second[field: "Cookie"] == "id=there")
  }

  @Test func `a 401 says that the netrc file knows the host under another port`() async throws {
    let home = try OriginServer { _, reply in
      try reply.head("HTTP/1.1 401 Who\nContent-Length: 0")
    }
    var configuration = Engine.Configuration.test
    configuration.netrc = try Netrc("machine 127.0.0.1:1 login a password b", name: "N")
    let bench = try DownloadBench(configuration)
    let error = await #expect(throws: TransferError.self) {
      try await bench.downloader.download(home.url("/"), to: bench.directory.path("a"))
    }
    #expect(
      error?.message.hasSuffix(
        "; the netrc file has 'machine 127.0.0.1:1', but this URL needs 'machine \(home.host)'")
        == true
    )
  }

  @Test func `credentials of a request go before those of a netrc`() async throws {
    let home = try origin("127.0.0.1")
    var configuration = Engine.Configuration.test
    configuration.netrc = try Netrc("machine \(home.host) login a password home", name: "N")
    var options = DownloadOptions()
    options.credentials = [.init("Authorization", "Bearer x")]
    let bench = try DownloadBench(configuration)
    #expect(try await bench.download(home.url("/"), options: options) == .text("12345"))
    let fields = home.log.value.exchanges[0].request.fields.filter { $0.name == "Authorization" }
    #expect(fields.map(\.value) == ["Bearer x"])
  }

  @Test func `a client's certificate is shown where it is to be, and nowhere else`() async throws {
    let origin = try await TLSOrigin(files: ["small": Array("12345".utf8)])
    var configuration = Engine.Configuration.test
    configuration.resolve = ["tls.test:\(origin.port):127.0.0.1"]
    configuration.caFile = origin.caFile
    try await withEngine(configuration) { engine in
      var request = ExchangeRequest(url: origin.url("/small"))
      // One after another over the same engine: a kept connection proves who has made it.
      for isShown in [false, true, false, true] {
        request.certificate =
          isShown ? ClientCertificate(path: origin.caFile, keyPath: origin.keyFile) : nil
        let result = await engine.perform(request, sink: Recorder())
        #expect(result.head?.value("X-Client") == (isShown ? "SUCCESS" : "NONE"))
      }
      request.certificate = ClientCertificate(path: "/nonexistent", keyPath: "/nonexistent")
      let result = await engine.perform(request, sink: Recorder())
      #expect(result.outcome.failure == .credential)
    }
  }

  @Test func `a file of certificates stands in place of the system's`() async throws {
    let origin = try await TLSOrigin(files: ["small": Array("12345".utf8)])
    let other = try await TLSOrigin(files: [:])
    var configuration = Engine.Configuration.test
    configuration.resolve = ["tls.test:\(origin.port):127.0.0.1"]
    configuration.caFile = other.caFile
    try await withEngine(configuration) { engine in
      let (result, _) = await engine.fetch(origin.url("/small"))
      #expect(result.outcome.failure == .tls)
    }
  }
}
