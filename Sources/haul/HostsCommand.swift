import Arguments
import JobQueue
import Terminal

extension IdleReason: OptionValue {}

struct HostsCommand: HaulCommand {
  static let name = "hosts"
  static let abstract = "List hosts, and why each starts nothing."
  static let discussion = """
    The busiest first. CAP is how many transfers it may see now; 2 of 8 where it has refused to serve as many as \
    its policy allows. IDLE says why nothing more starts:

    \(IdleReason.allCases.map { "\($0.rawValue) (\($0.meaning))" }.joined(separator: ", ")).
    """
  static let examples = [
    Example("haul hosts", "The busiest hosts."),
    Example("haul hosts --limit 100000 --json", "All of them for a program."),
    Example("haul hosts --why blocked", "Those that are left alone for a while."),
    Example("haul hosts example.org", "One of them."),
  ]
  static let options: [Option<Self>] =
    [
      .value("why", "<reason>", \.reason, "Only those that start nothing more for this reason.")
    ] + group(\.limit) + group(\.output) + group(\.database)
  static let operands: [Operand<Self>] = [
    .repeated(
      "host", \.hosts, isRequired: false, "Hosts, with their ports if unusual; all without."
    ).from(.names("listed host"))
  ]

  var reason: IdleReason?
  var hosts: [HostArgument] = []
  var limit = LimitOptions()
  var output = OutputOptions()
  var database = DatabaseOptions()

  func perform() async throws {
    let rows = try await database.withQueue {
      try await $0.hosts(hosts.map(\.argument), idle: reason?.rawValue, limit: limit.asked)
    }
    try output.print(
      rows, upTo: limit.limit, label: "haul hosts", HostRow.columns, json: HostRow.moreColumns,
      note: HostRow.block)
  }
}

extension HostRow {
  typealias Column = Listing<HostRow>.Column

  static let columns: [Column] = [
    Column("HOST", key: "host", isName: true, value: { .string($0.host) }),
    Column("RUNNING", key: "running", .right, value: { .number($0.running) }),
    Column(
      "CAP", key: "cap", .right, value: { .number($0.cap) },
      text: { $0.cap < $0.policyCap ? "\($0.cap) of \($0.policyCap)" : "\($0.cap)" },
      style: { $0.cap < $0.policyCap ? .yellow : nil }),
    .interval { $0.interval },
    Column(
      "WAITING", key: "waiting", value: { .bool($0.waiting) },
      text: { $0.waiting ? "yes" : "no" }),
    Column(
      "IDLE", key: "why_idle", value: { .text($0.whyIdle) },
      style: { $0.whyIdle == "blocked" ? .yellow : nil }),
  ]

  /// What programs get besides.
  static let moreColumns: [Column] = [
    .time("BLOCKED UNTIL", key: "blocked_until") { $0.blockedUntil },
    Column("BLOCKED BY", key: "block_reason", value: { .text($0.blockReason) }),
    Column("FAILURES", key: "failures", .right, value: { .number($0.failures) }),
    Column("POLICY", key: "policy_cap", .right, value: { .number($0.policyCap) }),
    Column("BURST", key: "burst", .right, value: { .number($0.burst) }),
    .time("LAST START", key: "last_start") { $0.lastStart },
    Column(
      "RANGES", key: "range_unsafe", value: { .bool($0.rangeUnsafe ?? false) },
      text: { $0.rangeUnsafe == true ? "unsafe" : "used" }),
  ]

  /// Until when it is blocked, and why: `blocked until 2026-11-21 15:30:12: connect, 3 failures in a row`; nil where
  /// it is not.
  @Sendable static func block(_ row: HostRow) -> String? {
    guard let until = row.blockedUntil else { return nil }
    if row.blockReason == "operator" {
      let end = until == "infinity" ? "haul host unblock" : HumanFormat.time(until)
      return "blocked by an operator until \(end)"
    }
    let failures = row.failures > 1 ? ", \(row.failures) failures in a row" : ""
    return "blocked until \(HumanFormat.time(until)): \(row.blockReason ?? "unknown")\(failures)"
  }
}
