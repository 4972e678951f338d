import Foundation
import Glibc
import TestSupport
import Testing

/// `haul get` where names lead nowhere, or elsewhere.
@Suite(.serialized) struct HostileGetTests {
  @Test func `names from URLs stay names of files in the directory`() async throws {
    let place = try await GetPlace()
    let origin = try OriginServer { request, reply in
      try Representation(seed: 3, length: 1000).answer(request, reply)
    }
    let long = String(repeating: "x", count: 300)
    let targets = [
      "/%2e%2e%2f%2e%2e%2fup", "/%2fetc%2fpasswd", "/nul%00", "/line%0aend", "/esc%1b%5b2J",
      "/a/../../dots", "/\(long).bin",
    ]
    let output = try await place.get(targets.map(origin.url))
    #expect(output.exit == .code(0))
    let files = try place.files()
    let short = files.filter { $0.utf8.count < 100 }
    #expect(
      short == [
        "%2e%2e%2f%2e%2e%2fup", "%2fetc%2fpasswd", "dots", "esc%1b%5b2J", "line%0aend", "nul%00",
      ])
    let rest = files.filter { $0.utf8.count >= 100 }
    #expect(rest.count == 1 && rest[0].utf8.count == 255)
    #expect(rest[0].hasPrefix("xxx") && rest[0].hasSuffix(".bin"))
  }

  @Test func `an IPv6 address in brackets`() async throws {
    let place = try await GetPlace()
    let origin = try OriginServer(address: "::1") { request, reply in
      try Representation(seed: 3, length: 1000).answer(request, reply)
    }
    let output = try await place.get(origin.url("/d/one"))
    #expect(output.exit == .code(0))
    #expect(try place.wrong("one") == [])
  }

  /// Stops what it does after a look at the log: how long it would go on trying is another matter.
  @Test(.enabled("mounting takes root") { SilentNameServer.isPossible })
  func `a name server that does not answer holds up nobody else`() async throws {
    let (place, origin) = (try await GetPlace(), try GetOrigin())
    let names = try SilentNameServer()
    let run = try names.start(
      ["get", "-d", place.directory, "http://silent.test/x"] + origin.urls("one"),
      environment: [
        "HAUL_STATE_DIR": place.state, "HAUL_LOG_FORMAT": "json", "HAUL_LOG_LEVEL": "debug",
      ], in: place.path("."))
    try await run.event("job.completed", within: .seconds(60))
    #expect(run.events("job.retry").isEmpty)
    let retry = try await run.event("job.retry", within: .seconds(60))
    #expect(retry[field: "error"] == "dns")
    #expect(try place.wrong("one") == [])
    run.signal(SIGINT)
    try await run.exit(within: .seconds(60))
  }
}
