package import JobQueue
package import Terminal

extension UsageRow {
  package typealias Column = Listing<UsageRow>.Column

  /// The columns of a report by `kind`. The first one has the name.
  package static func columns(by kind: UsageKind) -> [Column] {
    [
      Column(
        kind.rawValue.uppercased(), key: kind.rawValue, isName: kind != .day,
        value: { .text($0.name) }),
      Column("FILES", key: "files", .right, value: { .number($0.files) }),
      Column(
        "FAILED", key: "failed", .right, value: { .number($0.failed) },
        style: { $0.failed > 0 ? .red : nil }),
      Column(
        "BYTES", key: "bytes", .right, value: { .number($0.bytes) },
        text: { HumanFormat.bytes($0.bytes) }),
      Column(
        "FETCHED", key: "fetched", .right, value: { .number($0.fetched) },
        text: { HumanFormat.bytes($0.fetched) }),
    ]
  }
}

extension UsageReport {
  /// The sums as the last row of a table.
  package var totalRow: UsageRow {
    var row = total
    row.name = "total since \(since)"
    return row
  }
}
