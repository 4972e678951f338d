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
  ]

  /// What programs get besides.
  package static let moreColumns: [Column] = [
    Column("ID", key: "id", .right, value: { .number($0.id) }),
    .time("ENDED", key: "ended_at") { $0.endedAt },
  ]
}
