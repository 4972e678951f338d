import Arguments
package import JobQueue
package import Terminal

extension PolicyRow {
  package typealias Column = Listing<PolicyRow>.Column

  package static let columns: [Column] = [
    Column("PATTERN", key: "pattern", value: { .string($0.pattern) }),
    Column("CAP", key: "cap", .right, value: { .number($0.cap) }),
    .interval { $0.interval },
    Column("BURST", key: "burst", .right, value: { .number($0.burst) }),
    Column("HOSTS", key: "hosts", .right, value: { .number($0.hosts) }),
  ]
}

extension Listing.Column {
  /// Returns a column for the minimum time between starts. `seconds` returns the time in seconds, as the JSON output shows it.
  package static func interval(_ seconds: @escaping @Sendable (Row) -> Double) -> Self {
    Self(
      "INTERVAL", key: "min_interval", .right, value: { .double(seconds($0)) },
      text: { row in seconds(row) > 0 ? Duration.seconds(seconds(row)).argument : "-" })
  }
}
