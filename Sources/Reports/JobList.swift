package import JobModel
package import JobQueue
package import Terminal

extension JobRow {
  package typealias Column = Listing<JobRow>.Column

  /// The columns of the table for people.
  package static let columns: [Column] = [
    Column("JOB", key: "job", .right, value: { .number($0.job) }),
    Column(
      "STATE", key: "state", value: { .text($0.state?.rawValue) },
      style: { $0.state.flatMap { Style($0) } }),
    Column("QUEUE", key: "queue", value: { .string($0.queue) }),
    Column("HOST", key: "host", isName: true, value: { .string($0.host) }),
    Column(
      "BYTES", key: "bytes", .right, value: { .number($0.bytes) },
      text: { HumanFormat.bytes($0.bytes) }),
    Column(
      "TOTAL", key: "total", .right, value: { .number($0.total) },
      text: { $0.total.map(HumanFormat.bytes) ?? "-" }),
    Column(
      "ERROR", key: "error", value: { .text($0.error?.rawValue) },
      text: { row in
        row.error?.rawValue
          ?? (row.state == .running ? nil : row.lastError.map { "(\($0))" }) ?? "-"
      }),
    Column("PATH", key: "path", isName: true, value: { .string($0.path) }),
  ]

  /// Further columns of the list, for JSON output and for the view of one job.
  package static let moreColumns: [Column] = [
    Column("URL", key: "url", value: { .string($0.url) }),
    Column("STORE", key: "store", value: { .string($0.store) }),
    Column("BATCH", key: "batch", value: { .text($0.batch) }),
    Column("PRIORITY", key: "priority", .right, value: { .number($0.priority) }),
    .time("SUBMITTED", key: "submitted_at") { $0.submittedAt },
    .time("NOT BEFORE", key: "run_at") { $0.runAt },
    .time("FINISHED", key: "finished_at") { $0.finishedAt },
    Column("WORKER", key: "worker", .right, value: { .number($0.worker) }),
    Column("TOKEN", key: "token", .right, value: { .number($0.token) }),
    Column(
      "DURABLE", key: "durable", .right, value: { .number($0.durable) },
      text: { $0.durable.map(HumanFormat.bytes) ?? "-" }),
    Column("DIGEST", key: "digest", value: { .text($0.digest) }),
    Column("MEDIA TYPE", key: "media_type", value: { .text($0.mediaType) }),
    Column("MESSAGE", key: "message", value: { .text($0.message) }),
    Column("LAST ERROR", key: "last_error", value: { .text($0.lastError?.rawValue) }),
    Column(
      "OPTIONS", key: "options", value: { .object(($0.options ?? [:]).members) },
      text: { row in
        let words = (row.options ?? [:]).words
        return words.isEmpty ? "-" : words.joined(separator: ", ")
      }),
  ]

  /// Returns the earliest start of the job, such as `not before 2026-11-21 15:30:12`; nil if the job has no start time.
  @Sendable package static func due(_ row: JobRow) -> String? {
    row.runAt.map { "not before \(HumanFormat.time($0))" }
  }
}

extension Style {
  /// Creates the text style for a job's state; nil for a state that needs no attention.
  package init?(_ state: JobState) {
    switch state {
    case .failed: self = .red
    case .interrupted, .paused: self = .yellow
    case .completed: self = .green
    case .cancelled: self = .dim
    default: return nil
    }
  }

  /// Creates the text style for a worker's state; nil for a state that needs no attention.
  package init?(_ state: WorkerState) {
    switch state {
    case .dead: self = .red
    case .silent, .draining: self = .yellow
    case .stopped: self = .dim
    default: return nil
    }
  }

  /// Creates the text style for an attempt's result; nil for a result that needs no attention.
  package init?(_ result: AttemptResult) {
    switch result {
    case .failed: self = .red
    case .paused: self = .yellow
    case .completed: self = .green
    case .cancelled: self = .dim
    default: return nil
    }
  }
}
