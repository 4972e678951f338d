import Arguments
import JobQueue
import Terminal

struct HostsCommand: HaulCommand {
  static let name = "hosts"
  static let abstract = "List hosts, and why each starts nothing."
  static let discussion = """
    The busiest first. IDLE says why nothing more starts: blocked (at the host's wish or after \
    failures), full (its cap), empty (nothing waits) or paused.
    """
  static let examples = [
    Example("haul hosts", "The busiest hosts."),
    Example("haul hosts --limit 100000 --json", "All of them for a program."),
  ]
  static let options: [Option<Self>] =
    [.value("limit", "<n>", \.limit, in: 1...1_000_000, "Show at most so many.")]
    + group(\.output) + group(\.database)

  var limit = 50
  var output = OutputOptions()
  var database = DatabaseOptions()

  func perform() async throws {
    let rows = try await database.withQueue { try await $0.hosts(limit: limit) }
    try output.print(rows, HostRow.columns, json: HostRow.moreColumns)
  }
}

extension HostRow {
  typealias Column = Listing<HostRow>.Column

  static let columns: [Column] = [
    Column("HOST", key: "host", value: { .string($0.host) }),
    Column("RUNNING", key: "running", .right, value: { .number($0.running) }),
    Column("CAP", key: "cap", .right, value: { .number($0.cap) }),
    Column(
      "WAITING", key: "waiting", value: { .bool($0.waiting) },
      text: { $0.waiting ? "yes" : "no" }),
    Column(
      "IDLE", key: "why_idle", value: { .text($0.whyIdle) },
      style: { $0.whyIdle == "blocked" ? .yellow : nil }),
    .time("BLOCKED UNTIL", key: "blocked_until") { $0.blockedUntil },
    Column("FAILURES", key: "failures", .right, value: { .number($0.failures) }),
  ]

  /// What programs get besides.
  static let moreColumns: [Column] = [
    .time("LAST START", key: "last_start") { $0.lastStart },
    Column(
      "RANGES", key: "range_unsafe", value: { .bool($0.rangeUnsafe ?? false) },
      text: { $0.rangeUnsafe == true ? "unsafe" : "used" }),
  ]
}
