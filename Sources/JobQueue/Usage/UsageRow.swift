/// How usage is grouped.
package enum UsageKind: String, Sendable, CaseIterable {
  case queue, batch, host, worker
  /// By day, for one name or for all.
  case day
}

/// The usage of one queue, batch, host, worker or day, or of all of them.
package struct UsageRow: Sendable, Decodable, Equatable {
  /// The name, or the day in UTC such as `2026-11-21`. Nil stands for jobs without a batch, or for jobs that failed without a
  /// worker.
  package var name: String?
  /// The number of completed jobs.
  package let files: Int64
  /// The number of failed jobs.
  package let failed: Int64
  /// The number of bytes in the completed files.
  package let bytes: Int64
  /// The number of bytes received over the network, in all attempts.
  package let fetched: Int64
}

/// The usage of a pool since one day.
package struct UsageReport: Sendable, Decodable, Equatable {
  /// The first day in UTC, such as `2026-11-21`.
  package let since: String
  /// The rows up to the limit: days with the newest first, names with the most bytes first.
  package let rows: [UsageRow]
  /// The sums of all rows, also of those beyond the limit.
  package let total: UsageRow
}

/// Selects the usage to report.
package struct UsageSelector: Sendable {
  package var by: UsageKind
  /// Counts only this queue, batch or host. It must be a name of the kind `by`, or of any kind if `by` is `day`.
  package var only: (kind: UsageKind, name: String)?
  /// The first day: the day of this time, in seconds since 1970.
  package var since: Double

  /// Creates a selector of everything that ended on the day of `since` or later.
  package init(by: UsageKind, since: Double) {
    self.by = by
    self.since = since
  }
}
