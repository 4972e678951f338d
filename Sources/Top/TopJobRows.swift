import HaulSystem
import JobModel
package import JobQueue
import Reports
package import Terminal

extension TransferRow {
  package typealias Column = Listing<TransferRow>.Column

  private var progress: TransferProgress {
    TransferProgress(name: path, bytes: bytes, total: total, rate: rate)
  }

  /// The error with which the lease ended, or nil if it did not fail.
  private var trouble: ErrorClass? {
    ended.flatMap { $0.error ?? ($0.state == .scheduled ? $0.lastError : nil) }
  }

  private var isCompleted: Bool { ended?.state == .completed }

  /// Records that the lease is over, with the job's new state.
  mutating func end(_ job: JobRow) {
    ended = job
    bytes = job.bytes
    total = job.total
    rate = 0
  }

  package static let table = TopTable<TransferRow>([
    .init(Column("JOB", key: "job", .right, value: { .number($0.job) }), 5...9, 6),
    .init(Column("PATH", key: "path", isName: true, value: { .string($0.path) }), 24...100, 0),
    .init(
      Column(
        "DONE", key: "fraction", value: { $0.progress.fraction.map(JSONValue.double) ?? .null }),
      6...16, 4, isBar: true),
    .init(
      Column(
        "%", key: "percent", .right,
        value: { $0.progress.fraction.map(JSONValue.double) ?? .null },
        text: { $0.progress.fraction.map { "\(Int(clamped: $0 * 100))%" } ?? "" }), 4...4, 0),
    .init(
      Column(
        "BYTES", key: "bytes", .right, value: { .number($0.bytes) },
        text: { row in
          row.trouble?.rawValue
            ?? (row.isCompleted
              ? HumanFormat.bytes(row.bytes) : HumanFormat.bytes(row.bytes, of: row.total))
        }), 13...13, 2),
    .init(
      Column(
        "RATE", key: "rate", .right, value: { .number($0.rate) },
        text: { row in
          row.ended?.state?.rawValue ?? (row.rate > 0 ? HumanFormat.rate(row.rate) : "-")
        },
        style: { $0.ended?.state.flatMap { Style($0) } }), 10...10, 1),
    .init(
      Column(
        "LEFT", key: "time_left", .right,
        value: { $0.progress.timeLeft.map { .double($0 / .seconds(1)) } ?? .null },
        text: { $0.progress.timeLeft.flatMap(HumanFormat.timeLeft) ?? "" },
        style: { _ in .dim }), 6...6, 3),
    .init(
      Column(
        "WORKER", key: "worker", value: { .number($0.worker) },
        text: { "\($0.worker) \($0.machine)" }),
      12...20, 5),
    .init(Column("QUEUE", key: "queue", value: { .string($0.queue) }), 7...18, 7),
    .init(Column("HOST", key: "host", value: { .string($0.host) }), 10...30, 8),
    .init(Column("BATCH", key: "batch", value: { .text($0.batch) }), 8...18, 9),
  ])

  package var topRow: TopRow {
    Self.table.row(
      self, .job(TopJob(job, path: path, state: ended.map(\.state) ?? .running)),
      detail: [
        "job \(job)", path, ended.flatMap(\.result), command.map { "asked to \($0)" },
        "from \(host)",
        "worker \(worker) on \(machine)", batch.map { "batch \($0)" },
        attempt > 1 ? "attempt \(attempt)" : nil,
        "for " + HumanFormat.duration(.clamped(seconds: seconds)),
        ended == nil ? durable.map { "\(HumanFormat.bytes($0)) saved" } : nil,
      ])
  }
}

extension JobRow {
  /// The state of the job in words, such as `failed with http_4xx: the server answers 404` or `scheduled after timeout`; nil if
  /// this program does not know the state.
  var result: String? {
    guard let state else { return nil }
    if let error {
      return ["\(state) with \(error)", message].compactMap { $0 }.joined(separator: ": ")
    }
    let last = state == .running ? nil : lastError
    return last.map { "\(state) after \($0)" } ?? state.rawValue
  }

  private static let progress = Column(
    "BYTES", key: "progress", .right, value: { .number($0.bytes) },
    text: { row in
      if row.bytes == 0 && row.total == nil { return "-" }
      return row.state == .completed
        ? HumanFormat.bytes(row.bytes) : HumanFormat.bytes(row.bytes, of: row.total)
    })

  package static let table = TopTable(
    columns + moreColumns + [progress],
    [
      ("job", 5...12, 1), ("state", 11...11, 0), ("path", 24...100, 0), ("progress", 13...13, 3),
      ("error", 10...18, 2), ("priority", 8...8, 7), ("host", 12...30, 4), ("batch", 8...18, 5),
      ("queue", 7...18, 6),
    ])

  package var topRow: TopRow {
    Self.table.row(
      self, .job(TopJob(job, path: path, state: state)),
      detail: [
        "job \(job)", path, result, Self.due(self), url, "queue \(queue)",
        batch.map { "batch \($0)" }, "priority \(priority)",
      ],
      job: self)
  }
}
