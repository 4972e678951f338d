package import JobQueue
package import Terminal

extension OperationRow {
  package typealias Column = Listing<OperationRow>.Column

  package static let columns: [Column] = [
    .time("TIME", key: "at") { $0.at },
    Column("LOGIN", key: "login", isName: true, value: { .string($0.login) }),
    Column("COMMAND", key: "action", value: { .string($0.action) }),
    Column("TARGET", key: "target", isName: true, value: { .string($0.target) }),
    Column("JOBS", key: "jobs", .right, value: { .number($0.jobs) }),
    Column("ID", key: "id", .right, value: { .number($0.id) }),
  ]

  /// Further columns of the list, which only the JSON output has.
  package static let moreColumns: [Column] = [
    .time("ENDED", key: "ended_at") { $0.endedAt },
    Column(
      "CHANGED JOBS", key: "first_jobs",
      value: { row in row.firstJobs.isEmpty ? .null : .array(row.firstJobs.map { .number($0) }) },
      text: { $0.changedJobs }),
    Column(
      "BATCHES", key: "batches",
      value: { row in row.batches.map { .array($0.map { .string($0) }) } ?? .null },
      text: { ($0.batches ?? []).joined(separator: ", ") }),
  ]

  /// The ids of the first changed jobs, in ascending order and with ranges: `3 5-9 12 and 30 more`.
  private var changedJobs: String {
    var ranges: [ClosedRange<Int64>] = []
    for id in Set(firstJobs).sorted() {
      if let last = ranges.last, last.upperBound + 1 == id {
        ranges[ranges.count - 1] = last.lowerBound...id
      } else {
        ranges.append(id...id)
      }
    }
    let shown = ranges.map { range in
      range.count == 1 ? "\(range.lowerBound)" : "\(range.lowerBound)-\(range.upperBound)"
    }
    let rest = (jobs ?? 0) - Int64(firstJobs.count)
    return shown.joined(separator: " ") + (rest > 0 ? " and \(rest) more" : "")
  }
}
