import JobQueue
import Postgres
import TestSupport

extension Pool {
  /// Submits 5,000 jobs to each of three hosts, and counts the waiting jobs that `statement` then reads.
  func waitingRowsRead(by statement: String) async throws -> Int64 {
    // In vacuumed pages, PostgreSQL answers from the index alone and counts no fetched row.
    try await execute("ALTER TABLE haul.ready SET (autovacuum_enabled = off)")
    for host in ["a.test", "b.test", "c.test"] { try await submit(5000, to: host) }
    return try await rowsRead(of: "ready", by: statement)
  }

  /// Counts the rows of a table, or of all its partitions, that `statement` reads. Its transaction is rolled back.
  func rowsRead(of table: String, by statement: String) async throws -> Int64 {
    let session = try await connect()
    try await session.script("BEGIN; \(statement)")
    let read: Int64 = try await session.query(
      """
      SELECT coalesce(sum(seq_tup_read + coalesce(idx_tup_fetch, 0)), 0)::bigint
      FROM pg_stat_xact_user_tables WHERE relname ~ ('^' || $1 || '(_[0-9]+)?$')
      """, [table]
    )[0].decode(0)
    await session.close()
    return read
  }

  /// Inserts completed jobs with the ids 1 to `count` directly, into tables that PostgreSQL never analysed.
  func insertCompleted(_ count: Int) async throws {
    _ = try await jobs.ensurePartitions(room: 100_000)
    try await execute(
      """
      INSERT INTO haul.job (id, queue, host, priority, submitted_at, url, path, options)
      SELECT n, 1, 1, 5, now(), 'https://a/' || n, n::text, '{}' FROM generate_series(1, $1) n
      """, [count])
    try await execute(
      "INSERT INTO haul.outcome (job, state, finished_at) SELECT id, 'completed', now() FROM haul.job"
    )
  }

  /// Removes what ``insertCompleted(_:)`` inserted.
  func removeInserted() async throws {
    try await execute("TRUNCATE haul.job, haul.outcome")
    try await execute("TRUNCATE haul.batch_change")
  }
}
