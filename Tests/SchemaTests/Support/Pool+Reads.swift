import Postgres
import TestSupport

extension Pool {
  /// Submits 5,000 jobs to each of three hosts, and counts the waiting jobs that `statement` then reads.
  func waitingRowsRead(by statement: String) async throws -> Int64 {
    // In vacuumed pages, PostgreSQL answers from the index alone and counts no fetched row.
    try await execute("ALTER TABLE haul.ready SET (autovacuum_enabled = off)")
    for host in ["a.test", "b.test", "c.test"] { try await submit(5000, to: host) }
    let session = try await connect()
    try await session.script("BEGIN; \(statement)")
    return try await session.query(
      """
      SELECT coalesce(sum(seq_tup_read + coalesce(idx_tup_fetch, 0)), 0)::bigint
      FROM pg_stat_xact_user_tables WHERE relname = 'ready'
      """
    )[0].decode(0)
  }
}
