import JobModel
import JobQueue
import Postgres
import TestSupport
import Testing

/// Hosts that have not answered yet, or have stopped answering: one transfer at a time tries them.
struct SilentHostTests {
  private func progress(
    _ worker: TestWorker, _ lease: Lease, bytes: Int64
  ) async throws {
    _ = try await JobQueue(worker.life).heartbeat(
      worker.caller, seen: await worker.number,
      holding: [Progress(job: lease.job, token: lease.token, bytes: bytes, total: nil, rate: 0)])
  }

  private func whyIdle(_ pool: Pool) async throws -> String? {
    try await pool.value("SELECT why_idle FROM haul.hosts")
  }

  @Test func `a new host gets one transfer, of all workers, until it has answered`() async throws {
    try await Pool.open(hostsAnswer: false) { pool in
      try await pool.submit(8)
      let (one, two) = (try await pool.worker(), try await pool.worker())
      let first = try await one.claimOne()
      #expect(first.hostFailures == -1)
      #expect(try await one.claim(8).isEmpty)
      #expect(try await two.claim(8).isEmpty)
      #expect(try await whyIdle(pool) == "unanswered")
      #expect(try await pool.value("SELECT failures FROM haul.hosts") == 0)
      try await one.end(first, .completed)
      let rest = try await two.claim(8)
      #expect(rest.count == 4)
      #expect(rest.allSatisfy { $0.hostFailures == nil })
    }
  }

  /// A refusal is an answer. What a network on the way says in its place is none.
  @Test(
    arguments: [
      (404, "http_4xx", 4), (nil, "tls", 1), (nil, "io", 1), (511, "proxy", 1),
      (200, "suspect_page", 1),
    ] as [(Int?, ErrorClass, Int)])
  func `what has a status has answered`(status: Int?, error: ErrorClass, places: Int) async throws {
    try await Pool.open(hostsAnswer: false) { pool in
      try await pool.submit(8)
      let worker = try await pool.worker()
      let lease = try await worker.claimOne()
      var ending = LeaseEnding(job: lease.job, token: lease.token, result: .failed)
      (ending.error, ending.status) = (error, status)
      try await worker.call([ending])
      #expect(try await worker.claim(8).count == places)
    }
  }

  /// A pool of large files does not wait until the first is complete.
  @Test func `the first byte that a heartbeat reports gives a host all its places`() async throws {
    try await Pool.open(hostsAnswer: false) { pool in
      try await pool.submit(8)
      let worker = try await pool.worker()
      let lease = try await worker.claimOne()
      try await progress(worker, lease, bytes: 0)
      #expect(try await worker.claim(8).isEmpty)
      try await progress(worker, lease, bytes: 1)
      #expect(try await worker.claim(8).count == 3)
    }
  }

  /// Its host has perhaps not been asked: others may ask it.
  @Test func `a first transfer that waits for a disk keeps nobody from its host`() async throws {
    try await Pool.open(hostsAnswer: false) { pool in
      try await pool.submit(2)
      let worker = try await pool.worker()
      let lease = try await worker.claimOne()
      #expect(try await worker.claim(8).isEmpty)
      _ = try await JobQueue(worker.life).heartbeat(
        worker.caller, seen: await worker.number,
        holding: [
          Progress(
            job: lease.job, token: lease.token, bytes: 0, total: nil, rate: 0, waitsForDisk: true)
        ])
      #expect(try await worker.claim(8).count == 1)
    }
  }

  /// What a resumed transfer had before says nothing of the host.
  @Test func `saved bytes are no answer`() async throws {
    try await Pool.open(hostsAnswer: false) { pool in
      try await pool.submit(2)
      let worker = try await pool.worker()
      let lease = try await worker.claimOne()
      try await worker.checkpoint(lease, bytes: 4096, instance: pool.instance)
      try await worker.end(lease, .released)
      let again = try #require(try await worker.claim(1).first { $0.job == lease.job })
      try await progress(worker, again, bytes: 4096)
      #expect(try await worker.claim(8).isEmpty)
      try await progress(worker, again, bytes: 4097)
      #expect(try await worker.claim(8).count == 1)
    }
  }

  /// heartbeat: somebody holds the host, or a lane that would stay parked → it passes the host over → the next one gives the places.
  @Test(arguments: ["host", "lane"])
  func `a heartbeat waits for no host and leaves no lane parked`(table: String) async throws {
    try await Pool.open(hostsAnswer: false) { pool in
      try await pool.submit(4)
      let worker = try await pool.impatientWorker()
      let lease = try await worker.claimOne()
      #expect(try await worker.claim(1).isEmpty)
      try await pool.holding("SELECT FROM haul.\(table) FOR UPDATE") {
        try await progress(worker, lease, bytes: 1)
        #expect(try await pool.value("SELECT failures FROM haul.host") == -1)
      }
      try await progress(worker, lease, bytes: 2)
      #expect(try await worker.claim(8).count == 3)
    }
  }

  @Test func `silence is the job's trouble once, and then the host's`() async throws {
    try await Pool.open(hostsAnswer: false) { pool in
      try await pool.submit(3)
      let worker = try await pool.worker()
      #expect(try await worker.end(worker.claimOne(), .failed, "timeout") == "scheduled")
      #expect(try await pool.value("SELECT count(blocked_until) FROM haul.host") == 0)
      #expect(try await worker.end(worker.claimOne(), .failed, "timeout") == "scheduled")
      #expect(
        try await pool.column("SELECT error || charged FROM haul.attempts ORDER BY token")
          == ["timeouttrue", "silentfalse"])
      // It costs a slot for seconds, so it is tried less often than one that refuses.
      #expect(
        try await pool.value(
          "SELECT blocked_until > clock_timestamp() + interval '3 seconds' AND failures = 1 FROM haul.host"
        ))
      #expect(try await pool.value("SELECT block_reason FROM haul.hosts") == "silent")
      #expect(try await worker.claim(8).isEmpty)
    }
  }

  /// Several that wait together are one silence, and what a host has sent in between ends it.
  @Test func `a success between two silences leaves the host alone`() async throws {
    try await Pool.open { pool in
      try await pool.submit(12)
      let worker = try await pool.worker()
      for _ in 0..<3 {
        let leases = try await worker.claim(4)
        #expect(leases.count > 1)
        try await worker.end(leases[0], .failed, "timeout")
        for lease in leases.dropFirst() { try await worker.end(lease, .completed) }
      }
      #expect(try await pool.value("SELECT count(blocked_until) FROM haul.host") == 0)
      #expect(
        try await pool.value("SELECT bool_and(charged) FROM haul.attempts WHERE result = 'failed'"))
    }
  }

  /// A body that stalls has begun: its host answers.
  @Test func `a transfer that stalls is not silent`() async throws {
    try await Pool.open { pool in
      try await pool.submit(4)
      let worker = try await pool.worker()
      for lease in try await worker.claim(3) {
        var ending = LeaseEnding(job: lease.job, token: lease.token, result: .failed)
        (ending.error, ending.status) = ("timeout", 200)
        try await worker.call([ending])
      }
      #expect(try await pool.value("SELECT failures FROM haul.host") == 0)
      #expect(try await pool.column("SELECT DISTINCT error FROM haul.attempts") == ["timeout"])
    }
  }
}
