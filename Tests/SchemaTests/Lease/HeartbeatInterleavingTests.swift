import JobQueue
import Postgres
import TestSupport
import Testing

/// Heartbeats of two workers of which one takes over the other's jobs.
struct HeartbeatInterleavingTests {
  /// The heir's heartbeat holds the progress of job 1 and wants that of job 2; the old owner's, which lists
  /// neither, must pass both by.
  @Test func `an old owner's heartbeat passes progress that its heir is writing`() async throws {
    try await Pool.open { pool in
      try await pool.submit(2)
      let (old, heir) = (try await pool.impatientWorker(), try await pool.worker())
      let before = try await old.claim(2)
      try await old.heartbeat(before)
      for lease in before { try await old.end(lease, .released) }
      let after = try await heir.claim(2)
      try await heir.life.script("BEGIN")
      try await heir.heartbeat([after[0]])
      try await old.heartbeat()
      try await heir.life.script("COMMIT")
      try await heir.heartbeat(after)
      #expect(try await pool.value("SELECT count(*) FROM haul.progress") == 2)
    }
  }
}
