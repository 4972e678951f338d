import JobModel
package import JobQueue
package import Terminal

extension FailureRow {
  package typealias Column = Listing<FailureRow>.Column

  package static let columns: [Column] = [
    Column("ERROR", key: "error", value: { .text($0.error?.rawValue) }),
    Column("HOST", key: "host", isName: true, value: { .string($0.host) }),
    .time("HOUR", key: "hour") { $0.hour },
    Column("JOBS", key: "jobs", .right, value: { .number($0.jobs) }),
    Column("FIRST JOB", key: "first_job", .right, value: { .number($0.firstJob) }),
  ]

  /// Further columns of the list, which only the JSON output has.
  package static let moreColumns: [Column] = [
    Column("MESSAGE", key: "message", value: { .text($0.message) })
  ]
}
