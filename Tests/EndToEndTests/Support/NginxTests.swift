import Foundation
import TestSupport
import Testing

/// The private nginx and the reading of its log.
@Suite struct NginxTests {
  private func curl(_ arguments: String...) async throws -> ChildProcess.Output {
    try await ChildProcess.run("curl", ["-sS", "--noproxy", "*"] + arguments)
  }

  @Test func `the log tells bytes, ranges and the most requests at once`() async throws {
    // nginx sends the first second's worth at once, so the file must be larger than that.
    let nginx = try await Nginx(location: "limit_rate 60k;")
    try Pattern(seed: 3).write(to: nginx.root + "/file", length: 100_000)
    let both = try await curl(
      "-Z", "--parallel-immediate", "-o", "/dev/null", nginx.url("/file?a"), "-o", "/dev/null",
      nginx.url("/file?b"))
    #expect(both.exit == .code(0))
    #expect(try await curl("-r", "10-19", "-o", "/dev/null", nginx.url("/file?a")).exit == .code(0))
    let log = try await nginx.accessLog(requests: 3)
    #expect(log.bytes == ["/file?a": 100_010, "/file?b": 100_000])
    #expect(log.ranges(of: "/file?a") == [nil, "bytes=10-19"])
    #expect(log.requests.map(\.status).sorted() == [200, 200, 206])
    #expect(log.peak == 2)
    try await nginx.stop()
  }

  @Test func `a reload changes the answers`() async throws {
    let nginx = try await Nginx()
    try Pattern(seed: 3).write(to: nginx.root + "/file", length: 1000)
    try await nginx.reload(location: "return 503;")
    let answer = try await curl("-o", "/dev/null", "-w", "%{http_code}", nginx.url("/file"))
    #expect(answer.standardOutput == ["503"])
  }
}
