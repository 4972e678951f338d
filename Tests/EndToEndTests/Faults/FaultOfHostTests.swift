import TestSupport
import Testing

/// Trouble of the host is not the job's: the host waits, no attempt is used up, and all is done when it is back.
@Suite struct FaultOfHostTests {
  private let length: Int64 = 50_000

  private func submit(_ count: Int, to pool: HaulPool, _ url: (Int) -> String) async throws {
    for number in 1...count {
      try await pool.command(
        "submit", url(number), "--out", "\(number)", "--max-attempts", "1")
    }
  }

  /// All completed, nothing charged.
  private func expectDone(_ count: Int, _ pool: HaulPool) async throws {
    #expect(
      try await pool.value("SELECT count(*) FROM haul.jobs WHERE state = 'completed'") == count)
    #expect(try await pool.value("SELECT count(*) FROM haul.attempts WHERE charged") == 0)
    #expect(try pool.files().count == count)
    #expect(try await pool.violations() == [])
  }

  @Test func `an origin that refuses connections is waited for`() async throws {
    let closed = try ClosedPort()
    try await HaulPool.open { pool in
      try await submit(6, to: pool) { "http://127.0.0.1:\(closed.port)/\($0)" }
      let worker = try pool.worker("--exit-when-idle")
      try await worker.event("job.retry") { $0[field: "error"] == "connect" }
      try await eventually("the host to be blocked") {
        try await pool.value("SELECT coalesce(why_idle, '') FROM haul.hosts") == "blocked"
      }
      let representation = Representation(seed: 1, length: length)
      let origin = try OriginServer(closed) { try representation.answer($0, $1) }
      #expect(try await worker.exit(within: .seconds(120)) == .code(0))
      try await expectDone(6, pool)
      #expect(origin.log.value.exchanges.count == 6)
    }
  }

  @Test(arguments: ["429 Too Many Requests", "503 Service Unavailable"])
  func `a host that asks for less gets nothing for as long as it says`(
    _ status: String
  ) async throws {
    let representation = Representation(seed: 1, length: length)
    // The first four arrive before anybody knows.
    let origin = try OriginServer { request, reply in
      if request.number <= 4 {
        return try reply.head("HTTP/1.1 \(status)\nRetry-After: 3\nContent-Length: 0")
      }
      try representation.answer(request, reply)
    }
    try await HaulPool.open { pool in
      try await submit(8, to: pool) { origin.url("/\($0)") }
      let worker = try pool.worker("--exit-when-idle")
      let retry = try await worker.event("job.retry")
      #expect(retry[field: "error"] == "rate_limited")
      #expect(try await pool.value("SELECT coalesce(why_idle, '') FROM haul.hosts") == "blocked")
      #expect(try await worker.exit(within: .seconds(120)) == .code(0))
      try await expectDone(8, pool)
      let answered = origin.log.value.exchanges
      let refused = answered.filter { $0.status != 200 }
      let first = try #require(refused.first?.request.arrived)
      let served = try #require(answered.first { $0.status == 200 }?.request.arrived)
      #expect(served - first >= .seconds(3))
    }
  }

  /// The job's own host sends on to another, which asks for less. No worker's word stops a host of which it holds no job.
  @Test func `a job waits for the host that it is sent to, and stops nobody else`() async throws {
    let representation = Representation(seed: 1, length: length)
    let busy = try OriginServer(address: "127.0.0.2") { request, reply in
      if request.number == 1 {
        return try reply.head(
          "HTTP/1.1 429 Too Many Requests\nRetry-After: 2\nContent-Length: 0")
      }
      try representation.answer(request, reply)
    }
    let origin = try OriginServer { request, reply in
      try reply.head(
        "HTTP/1.1 302 Found\nLocation: \(busy.url(request.target))\nContent-Length: 0")
    }
    try await HaulPool.open { pool in
      try await submit(1, to: pool) { origin.url("/\($0)") }
      let worker = try pool.worker("--exit-when-idle")
      try await worker.event("job.retry")
      let blocked: [String] = try await pool.values(
        "SELECT host FROM haul.hosts WHERE blocked_until > clock_timestamp()")
      #expect(blocked == [])
      #expect(try await worker.exit(within: .seconds(120)) == .code(0))
      try await expectDone(1, pool)
      let asked = busy.log.value.exchanges.map(\.request.arrived)
      #expect(asked.count == 2 && asked[1] - asked[0] >= .seconds(2))
    }
  }

  /// 500 is the job's own trouble: two charged attempts, a wait between them, and the host goes on for others.
  @Test func `an error of the script behind a URL uses up that job's attempts`() async throws {
    let representation = Representation(seed: 1, length: length)
    let origin = try OriginServer { request, reply in
      if request.path == "/bad" {
        return try reply.head("HTTP/1.1 500 Internal Server Error\nContent-Length: 0")
      }
      try representation.answer(request, reply)
    }
    try await HaulPool.open { pool in
      try await pool.command(
        "submit", origin.url("/bad"), "--out", "bad", "--max-attempts", "2")
      let worker = try pool.worker("--exit-when-idle")
      try await worker.event("job.retry") { $0[field: "error"] == "http_5xx" }
      #expect(try await pool.value("SELECT coalesce(why_idle, '') FROM haul.hosts") != "blocked")
      #expect(try await worker.exit(within: .seconds(60)) == .code(0))
      #expect(try await pool.value("SELECT count(*) FROM haul.attempts WHERE charged") == 2)
      #expect(try await pool.value("SELECT error FROM haul.jobs") == "http_5xx")
      #expect(origin.log.value.exchanges.count == 2)
    }
  }
}
