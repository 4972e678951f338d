import HaulTransfer
import TestSupport
import Testing

/// Origins that do not prove their name, and connections that somebody cuts.
@Suite(.timeLimit(.minutes(5)))
struct HostileTLSTests {
  private static let body = String(repeating: "0123456789", count: 10_000)
  private static let sha256 = "aca9e593cc629cbaa94cd5a07dc029424aad93e5129e5d11f8dcd2f139c16cc0"
  private static let answers = [
    "sized": "HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n" + body,
    "unsized": "HTTP/1.1 200 OK\r\n\r\n" + body,
  ]

  /// Trusts the origin's authority, and finds `tls.test` at `port`.
  private func bench(_ origin: RawTLSOrigin, port: UInt16? = nil) throws -> DownloadBench {
    var configuration = Engine.Configuration.test
    configuration.resolve = ["tls.test:\(port ?? origin.port):127.0.0.1"]
    configuration.caFile = origin.caFile
    return try DownloadBench(configuration)
  }

  @Test(arguments: RawTLSOrigin.Proof.allCases)
  func `only who proves the name is asked`(_ proof: RawTLSOrigin.Proof) async throws {
    let origin = try await RawTLSOrigin(proof, answers: Self.answers)
    let bench = try bench(origin)
    guard proof != .right else {
      #expect(try await bench.download(origin.url("sized")) == .text(Self.body))
      return
    }
    let error = try #require(try await bench.failure(origin.url("sized")))
    #expect(error.errorClass == .tls)
    #expect(error.message.hasPrefix("cannot verify the server's certificate: "))
    #expect(error.message.contains(Self.reasons[proof] ?? "none"))
  }

  private static let reasons: [RawTLSOrigin.Proof: String] = [
    .expired: "has expired", .otherName: "matches target host name 'tls.test'",
    .selfSigned: "self-signed", .unknownAuthority: "unable to get local issuer certificate",
  ]

  @Test(arguments: ["-tls1", "-tls1_1"])
  func `an old TLS is refused, whatever the proof`(_ version: String) async throws {
    let origin = try await RawTLSOrigin(
      .right, options: [version, "-cipher", "ALL:@SECLEVEL=0"], answers: Self.answers)
    let error = try #require(try await bench(origin).failure(origin.url("sized")))
    #expect(error.errorClass == .tls)
    #expect(error.message.contains("TLS 1.2 or newer"))
  }

  /// TLS says when it is over (close_notify); without that anybody on the way may have ended it.
  @Test(arguments: ["sized", "unsized"])
  func `a connection cut inside TLS is never the end of a file`(_ name: String) async throws {
    let origin = try await RawTLSOrigin(.right, answers: Self.answers)
    var options = DownloadOptions()
    options.acceptUnverifiedLength = true
    let whole = try await bench(origin).download(origin.url(name), options: options)
    #expect(whole == .text(Self.body))
    for limit in [5000, 60_000] {
      let relay = try OriginRelay(to: origin.port, .end(after: limit))
      let cut = try await bench(origin, port: relay.port)
        .download("https://tls.test:\(relay.port)/\(name)", options: options)
      #expect(cut == .failure(.interrupted), "cut after \(limit) bytes")
    }
  }

  /// A server that never says so, and a cut on the way: only a digest tells them apart.
  @Test func `a body cut inside TLS is whole where a digest says so`() async throws {
    let origin = try await RawTLSOrigin(.right, options: ["-tls1_2"], answers: Self.answers)
    let relay = try OriginRelay(to: origin.port, .endBeforeAlert)
    let url = "https://tls.test:\(relay.port)/unsized"
    var options = DownloadOptions()
    let bench = try bench(origin, port: relay.port)
    #expect(try await bench.download(url, options: options) == .failure(.interrupted))
    options.digest = try ExpectedDigest("sha-256=\(String(repeating: "0", count: 64))")
    #expect(try await bench.download(url, options: options) == .failure(.digest))
    options.digest = try ExpectedDigest("sha-256=\(Self.sha256)")
    #expect(try await bench.download(url, options: options) == .text(Self.body))
  }

  @Test func `a connection cut inside the handshake is a failure of TLS`() async throws {
    let origin = try await RawTLSOrigin(.right, answers: Self.answers)
    let relay = try OriginRelay(to: origin.port, .end(after: 100))
    let result = try await bench(origin, port: relay.port)
      .download("https://tls.test:\(relay.port)/sized")
    #expect(result == .failure(.tls))
  }
}
