import Arguments
import HaulSystem
import JobQueue
import Terminal

struct WorkersCommand: HaulCommand {
  static let name = "workers"
  static let abstract = "List workers and whether they live."
  static let discussion = """
    Those that stopped in order or died are left out, and counted on standard error; with --all, or by \
    their ids, they are listed too. The same holds for --json.
    """
  static let examples = [
    Example("haul workers", "Those that live."),
    Example("haul workers --all --json", "All that ever registered, for a program."),
  ]
  static let options: [Option<Self>] =
    [.flag("all", \.all, "Also those that stopped or died.")]
    + group(\.limit) + group(\.output) + group(\.database)
  static let operands: [Operand<Self>] = [
    .repeated(
      "worker", \.workers, isRequired: false, "Ids of workers, also of those that are gone."
    )
    .from(.names("worker"))
  ]

  var all = false
  var workers: [Int64] = []
  var limit = LimitOptions()
  var output = OutputOptions()
  var database = DatabaseOptions()

  func perform() async throws {
    let (rows, counts) = try await database.withQueue { queue in
      (
        try await queue.workers(workers, includingGone: all, limit: limit.asked),
        all || !workers.isEmpty ? [] : try await queue.workerCounts()
      )
    }
    try output.print(
      rows, upTo: limit.limit, label: "haul workers", WorkerRow.columns,
      json: WorkerRow.moreColumns, note: \.trouble)
    let words = [("dead", "died"), ("stopped", "stopped in order")].compactMap { state, word in
      let gone = counts.workers(state)
      return gone > 0 ? "\(counted(Int(gone), "worker")) \(word)" : nil
    }
    if !words.isEmpty {
      StandardStream.say(
        "haul workers: \(words.joined(separator: ", ")); --all lists them too\n")
    }
  }
}

extension WorkerRow {
  typealias Column = Listing<WorkerRow>.Column

  /// Whether it has trouble with a store, and would work otherwise.
  private var claimsLess: Bool { trouble != nil && state == "alive" }

  static let columns: [Column] = [
    Column("WORKER", key: "worker", .right, value: { .number($0.worker) }),
    Column("MACHINE", key: "machine", value: { .string($0.machine) }),
    Column("PID", key: "pid", .right, rank: 1, value: { .number($0.pid) }),
    Column("VERSION", key: "version", rank: 2, value: { .string($0.version) }),
    Column(
      "STATE", key: "state", value: { .string($0.state) },
      text: { $0.claimsLess ? "trouble" : $0.state },
      style: { $0.claimsLess ? .red : Style(state: $0.state) }),
    Column("RUNNING", key: "running", .right, value: { .number($0.running) }),
    Column("OF", key: "concurrency", .right, value: { .number($0.concurrency) }),
    Column(
      "RATE", key: "rate", .right, value: { .number($0.rate) },
      text: { HumanFormat.rate($0.rate) }),
    Column(
      "HEARD", key: "silence", .right, value: { .double($0.silence) },
      text: { HumanFormat.age(.seconds($0.silence)) + " ago" }),
    Column(
      "STORES", key: "stores", value: { .array(($0.stores ?? []).map { .string($0) }) },
      text: { ($0.stores ?? []).joined(separator: " ") }),
    Column(
      "QUEUES", key: "queues",
      value: { $0.queues.map { .array($0.map { .string($0) }) } ?? .null },
      text: { $0.queues?.joined(separator: " ") ?? "all" }),
  ]

  static let moreColumns: [Column] = [
    .time("REGISTERED", key: "registered_at") { $0.registeredAt },
    .time("HEARTBEAT", key: "heartbeat_at") { $0.heartbeatAt },
    .time("EXPIRES", key: "expires_at") { $0.expiresAt },
    Column("TROUBLE", key: "trouble", value: { $0.trouble.map { .string($0) } ?? .null }),
  ]
}
