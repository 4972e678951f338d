import JobModel
import Postgres

/// Files and bytes by day.
extension JobQueue {
  /// Adds up to `limit` recorded changes to the usage of each day, and removes usage that is older than 400 days. Returns the
  /// number of changes that it added up.
  package func foldUsage(limit: Int) async throws -> Int {
    try await call("SELECT haul.fold_usage($1::int)", [limit])
  }

  /// Returns the usage of the pool, with at most `limit` rows.
  /// - Throws: `JobQueueError.noSuchName` if the selected name has no usage on these days and does not exist.
  package func usage(_ selector: UsageSelector, limit: Int) async throws -> UsageReport {
    let isByDay = selector.by == .day
    // Each kind has the sums of all jobs.
    let kind = isByDay ? selector.only?.kind ?? .queue : selector.by
    let reports: [UsageReport] = try await view(
      """
      WITH first AS (SELECT (to_timestamp($1) AT TIME ZONE 'UTC')::date AS day),
      grouped AS MATERIALIZED (
        SELECT CASE WHEN $2 THEN u.day::text ELSE u.name END AS name, sum(u.files) AS files, sum(u.failed) AS failed,
          haul.whole(sum(u.bytes)) AS bytes, haul.whole(sum(u.fetched)) AS fetched
        FROM haul.usage_by_day u WHERE u.day >= (SELECT f.day FROM first f) AND u.kind = $3 AND ($4::text IS NULL OR u.name = $4)
        GROUP BY 1),
      listed AS (
        SELECT * FROM grouped g
        ORDER BY CASE WHEN $2 THEN g.name END DESC, g.bytes DESC, g.fetched DESC, g.name NULLS LAST LIMIT $5)
      SELECT json_build_object('since', (SELECT f.day FROM first f),
        'rows', coalesce((SELECT json_agg(l ORDER BY CASE WHEN $2 THEN l.name END DESC, l.bytes DESC, l.fetched DESC,
          l.name NULLS LAST) FROM listed l), '[]'),
        'total', (SELECT json_build_object('files', coalesce(sum(g.files), 0), 'failed', coalesce(sum(g.failed), 0),
          'bytes', coalesce(haul.whole(sum(g.bytes)), 0), 'fetched', coalesce(haul.whole(sum(g.fetched)), 0)) FROM grouped g))
      """, [selector.since, isByDay, kind.rawValue, selector.only?.name, limit])
    let report = reports[0]
    if let only = selector.only, report.rows.isEmpty { try await requireName(only.kind, only.name) }
    return report
  }

  /// Checks that a queue, batch or host exists. Usage may also belong to a name that has been removed.
  private func requireName(_ kind: UsageKind, _ name: String) async throws {
    var selector = JobSelector()
    switch kind {
    case .queue: selector.queue = name
    case .batch: selector.batch = name
    case .host: selector.host = name
    case .worker, .day: return
    }
    try await requireNames(selector)
  }
}
