import TestSupport
import Testing

/// Hosts that accept connections and never answer take no slot from hosts that do.
@Suite struct SilentHostTests {
  private let representation = Representation(seed: 1, length: 2000)

  private func silentHosts(_ count: Int, until gate: Gate) throws -> [OriginServer] {
    try (1...count).map { number in
      try OriginServer(address: "127.0.1.\(number)") { _, reply in try reply.wait(for: gate) }
    }
  }

  /// Three URLs of each silent host, then `count` of a healthy one.
  private func submit(
    _ count: Int, of healthy: OriginServer, after silent: [OriginServer], to pool: HaulPool
  ) async throws {
    for origin in silent {
      try await pool.command("submit", origin.url("/a"), origin.url("/b"), origin.url("/c"))
    }
    for number in 1...count { try await pool.command("submit", healthy.url("/\(number)")) }
  }

  private func untilCompleted(_ count: Int, _ pool: HaulPool) async throws {
    try await eventually("\(count) files", within: .seconds(55)) {
      try await pool.value("SELECT count(*) FROM haul.jobs WHERE state = 'completed'") == count
    }
  }

  /// 1. Every slot waits for a silent host. 2. All files of a healthy host come. 3. Still no transfer has timed out.
  @Test func `all files of a healthy host come while silent ones are waited for`() async throws {
    let never = Gate("never opened while the job runs")
    let silent = try silentHosts(2, until: never)
    let healthy = try OriginServer { [representation] in try representation.answer($0, $1) }
    try await HaulPool.open { pool in
      try await submit(6, of: healthy, after: silent, to: pool)
      let worker = try pool.worker("--concurrency", "2")
      try await untilCompleted(6, pool)
      #expect(
        try await pool.value("SELECT count(*) FROM haul.attempts WHERE result = 'failed'") == 0)
      // One at a time, of each.
      #expect(try await pool.value("SELECT count(*) FROM haul.running") == 2)
      for origin in silent { #expect(origin.log.value.exchanges.count == 1) }
      never.open()
      try await pool.stop(worker)
      #expect(try await pool.violations() == [])
    }
  }

  /// There are more silent hosts than may wait beside the slots: the latest make way, and no job is charged for that.
  @Test func `silent hosts beyond twice the slots are asked again later`() async throws {
    let never = Gate("never opened while the job runs")
    let silent = try silentHosts(3, until: never)
    let healthy = try OriginServer { [representation] in try representation.answer($0, $1) }
    try await HaulPool.open { pool in
      try await submit(3, of: healthy, after: silent, to: pool)
      let worker = try pool.worker("--concurrency", "1")
      let retry = try await worker.event("job.retry")
      #expect(retry[field: "error"] == "silent")
      try await untilCompleted(3, pool)
      #expect(try await pool.value("SELECT count(*) FROM haul.attempts WHERE charged") == 0)
      never.open()
      try await pool.stop(worker)
      #expect(try await pool.violations() == [])
    }
  }
}
