package import JobQueue
package import Terminal

extension StoreRow {
  package typealias Column = Listing<StoreRow>.Column

  package static let columns: [Column] = [
    Column("STORE", key: "store", value: { .string($0.store) }),
    Column("INSTANCE", key: "instance", .right, value: { .number($0.instance) }),
    Column("MACHINE", key: "machine", value: { .string($0.machine) }),
    Column(
      "WORKERS", key: "workers", .right, value: { .number($0.workers) },
      style: { $0.workers == 0 ? .yellow : nil }),
    Column("ROOT", key: "root", isName: true, value: { .string($0.root) }),
  ]

  package static let moreColumns: [Column] = [
    Column("MARKER", key: "marker", value: { .string($0.marker) }),
    .time("CREATED", key: "created_at") { $0.createdAt },
    .time("VERIFIED", key: "verified_at") { $0.verifiedAt },
  ]
}
