import JobModel
import JobQueue
import Postgres
import TestSupport
import Testing

/// How the digest of a finished file is kept, and what is known of files that have none.
struct RecordedDigestTests {
  private static let sha256 = "sha-256=" + String(repeating: "0f", count: 32)

  private func complete(_ pool: Pool, digest: String?) async throws {
    try await pool.submit()
    let worker = try await pool.worker()
    let lease = try await worker.claimOne()
    var ending = LeaseEnding(job: lease.job, token: lease.token, result: .completed)
    ending.bytes = 10
    ending.digest = digest
    ending.source = RefreshTests.source
    #expect(try await worker.call([ending]).settled.first?.state == "completed")
  }

  @Test func `a SHA-256 takes 32 bytes, and every digest is shown as it was told`() async throws {
    try await Pool.open { pool in
      let told = [
        Self.sha256, "md5=" + String(repeating: "0f", count: 16), "sha-256=00", nil,
        "sha-256=" + String(repeating: "0F", count: 32),
      ]
      for digest in told { try await complete(pool, digest: digest) }
      let shown: [String?] = try await pool.admin.query(
        "SELECT digest FROM haul.jobs ORDER BY job"
      ).map { try $0.decode(0) }
      #expect(shown == told)
      let kept: [Int?] = try await pool.admin.query(
        "SELECT octet_length(sha256) FROM haul.outcome ORDER BY job"
      ).map { try $0.decode(0) }
      #expect(kept == [32, nil, nil, nil, nil])
      let texts: [Bool] = try await pool.admin.query(
        "SELECT digest IS NULL FROM haul.outcome ORDER BY job"
      ).map { try $0.decode(0) }
      #expect(texts == [true, false, false, true, false])
    }
  }

  @Test func `a job that is asked for again knows the SHA-256 of its file`() async throws {
    try await Pool.open { pool in
      try await complete(pool, digest: Self.sha256)
      #expect(try await RefreshTests.refresh([RefreshTests.line], on: pool.admin).refreshed == 1)
      let worker = try await pool.worker()
      #expect(try await worker.claimOne().earlier?.digest == Self.sha256)
    }
  }

  @Test func `a line that demands the recorded SHA-256 counts as checked`() async throws {
    try await Pool.open { pool in
      try await complete(pool, digest: Self.sha256)
      for (digest, unchecked) in [(Self.sha256, 0), ("sha-256=00", 1)] {
        let submission = Submission(queue: Pool.name, options: JobOptions(digest: digest))
        let reply = try await JobQueue(pool.admin).submit(submission, [RefreshTests.line])
        #expect(reply.skipped == 1 && reply.unchecked == unchecked)
      }
    }
  }

  @Test func `completed jobs without a digest are counted, and verifications are recorded`()
    async throws
  {
    try await Pool.open { pool in
      let queue = JobQueue(pool.admin)
      #expect(
        try await queue.digestCounts() == DigestCounts(ended: 0, completed: 0, withoutDigest: 0))
      for digest in [Self.sha256, nil, "md5=00"] { try await complete(pool, digest: digest) }
      let last = try await pool.submit()
      var selector = JobSelector()
      selector.ids = last
      _ = try await queue.control(.cancel, selector)
      #expect(
        try await queue.digestCounts() == DigestCounts(ended: 4, completed: 3, withoutDigest: 1))
      #expect(try await queue.stores().map { $0.verifiedAt == nil } == [true])
      let instances = try await queue.stores().map(\.instance)
      try await queue.recordVerification(of: instances + [4711])
      #expect(try await queue.stores().map { $0.verifiedAt == nil } == [false])
    }
  }
}
