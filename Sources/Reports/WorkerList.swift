import JobModel
package import JobQueue
package import Terminal

extension WorkerRow {
  package typealias Column = Listing<WorkerRow>.Column

  /// Whether trouble with a store is the only problem of the worker.
  private var claimsLess: Bool { trouble != nil && state == .alive }

  package static let columns: [Column] = [
    Column("WORKER", key: "worker", .right, value: { .number($0.worker) }),
    Column("MACHINE", key: "machine", value: { .string($0.machine) }),
    Column("PID", key: "pid", .right, rank: 1, value: { .number($0.pid) }),
    Column("VERSION", key: "version", rank: 2, value: { .string($0.version) }),
    Column(
      "STATE", key: "state", value: { .string($0.state.rawValue) },
      text: { $0.claimsLess ? "trouble" : $0.state.rawValue },
      style: { $0.claimsLess ? .red : Style($0.state) }),
    Column(
      "RUNNING", key: "running", .right, value: { .number($0.running) }, text: { $0.placesTaken }),
    Column("OF", key: "concurrency", .right, value: { .number($0.concurrency) }),
    Column(
      "RATE", key: "rate", .right, value: { .number($0.rate) },
      text: { HumanFormat.rate($0.rate) }),
    Column(
      "SEEN", key: "silence", .right, value: { .double($0.silence) },
      text: { HumanFormat.age(.seconds($0.silence)) + " ago" }),
    Column(
      "STORES", key: "stores", value: { .array(($0.stores ?? []).map { .string($0) }) },
      text: { ($0.stores ?? []).joined(separator: " ") }),
    Column(
      "QUEUES", key: "queues",
      value: { $0.queues.map { .array($0.map { .string($0) }) } ?? .null },
      text: { $0.queues?.joined(separator: " ") ?? "all" }),
  ]

  package static let moreColumns: [Column] = [
    .time("REGISTERED", key: "registered_at") { $0.registeredAt },
    .time("HEARTBEAT", key: "heartbeat_at") { $0.heartbeatAt },
    .time("EXPIRES", key: "expires_at") { $0.expiresAt },
    Column("TROUBLE", key: "trouble", value: { $0.trouble.map { .string($0) } ?? .null }),
    Column(
      "SCHEMES", key: "schemes",
      value: { $0.schemes.map { .array($0.map { .string($0) }) } ?? .null }),
    Column(
      "NETWORKS", key: "networks",
      value: { $0.networks.map { .array($0.map { .string($0) }) } ?? .null }),
  ]
}

extension WorkerRow {
  /// The number of the worker's running jobs. Jobs beyond the worker's capacity follow a plus sign: `16+2` if two further jobs
  /// wait for a disk or for a host that does not answer.
  package var placesTaken: String {
    running > concurrency ? "\(concurrency)+\(running - concurrency)" : "\(running)"
  }
}

extension [WorkerRow] {
  /// Returns a warning if no other live worker can take over the jobs of `worker`. Returns nil if another live worker can, or
  /// if `worker` has no jobs.
  package func warning(without worker: WorkerRow) -> String? {
    let isFree = { (names: [String]?, others: [String]?) in
      guard let names, let others else { return true }
      return !Set(names).isDisjoint(with: others)
    }
    let canTake = contains {
      $0.worker != worker.worker && $0.state == .alive
        && !Set($0.stores ?? []).isDisjoint(with: worker.stores ?? [])
        && isFree($0.queues, worker.queues)
    }
    guard worker.running > 0, !canTake else { return nil }
    return
      "no other live worker can take over the jobs of \(worker.name), because no other worker serves its stores and queues. The jobs wait until such a worker starts"
  }
}
