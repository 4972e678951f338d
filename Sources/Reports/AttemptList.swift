import HaulTransfer
import JobModel
package import JobQueue
package import Terminal

extension AttemptRow {
  package typealias Column = Listing<AttemptRow>.Column

  /// The columns of the table for people. They fit into 80 characters per line.
  package static let columns: [Column] = [
    Column("ATTEMPT", key: "attempt", .right, value: { .number($0.attempt) }),
    Column("WORKER", key: "worker", .right, value: { .number($0.worker) }),
    .time("STARTED", key: "started_at") { $0.startedAt },
    Column(
      "TIME", key: "seconds", .right, value: { .double($0.seconds) },
      text: { HumanFormat.duration(.seconds($0.seconds)) }),
    Column(
      "RESULT", key: "result", value: { .string($0.result.rawValue) }, style: { Style($0.result) }),
    Column(
      "RESUMED AT", key: "resumed_at", .right, value: { .number($0.resumedAt) },
      text: { HumanFormat.bytes($0.resumedAt) }),
    Column(
      "FETCHED", key: "fetched", .right, value: { .number($0.fetched) },
      text: { HumanFormat.bytes($0.fetched) }),
  ]

  /// Further columns of the list, which only the JSON output has.
  package static let moreColumns: [Column] = [
    Column("MACHINE", key: "machine", value: { .text($0.machine) }),
    Column("TOKEN", key: "token", .right, value: { .number($0.token) }),
    .time("ENDED", key: "ended_at") { $0.endedAt },
    Column("CHARGED", key: "charged", value: { .bool($0.charged) }),
    Column("DURABLE", key: "durable", .right, value: { .number($0.durable) }),
    Column("CHANGES", key: "changes", .right, value: { .number($0.changes) }),
    Column("STATUS", key: "status", .right, value: { .number($0.status) }),
    Column("ERROR", key: "error", value: { .text($0.error?.rawValue) }),
    Column("MESSAGE", key: "message", value: { .text($0.message) }),
  ]

  /// Returns the note below the row, which describes the ``failure(_:)``; nil if nothing failed. If the failure does not count
  /// against the job, the note also says why.
  @Sendable package static func note(_ row: AttemptRow) -> String? {
    guard let failure = failure(row), let reason = row.whyNotCounted else { return failure(row) }
    return "\(failure) (\(reason))"
  }

  /// The reason why a failure does not count; nil if it counts or if nothing failed. After a retry, earlier failures do not
  /// count.
  private var whyNotCounted: String? {
    guard !charged, result == .failed || result == .rescued, endedAt != nil else { return nil }
    let retry = error.flatMap { word in
      ErrorTable.rows.first { $0.word == word }?.explanation.retry
    }
    return switch retry {
    case .host: "not counted: the host had a problem"
    case .worker: "not counted: the worker had a problem"
    case .never, .kept: "not counted: Haul retried the job later"
    default: "not counted"
    }
  }

  /// Whether the attempt is a failure that counts against the job's maximum number of attempts.
  package var isCounted: Bool { charged && result == .failed }

  /// Returns a description of the failure, such as `http_5xx (503): the server answers 503`; nil if nothing failed.
  @Sendable package static func failure(_ row: AttemptRow) -> String? {
    guard row.error != nil || row.message != nil else { return nil }
    let status = row.status.map { " (\($0))" } ?? ""
    return [row.error.map { "\($0)\(status)" }, row.message].compactMap { $0 }.joined(
      separator: ": ")
  }
}
