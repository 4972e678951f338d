import Arguments
import JobQueue
import Terminal

struct HostPoliciesCommand: HaulCommand {
  static let name = "policies"
  static let abstract = "List what was set for hosts."
  static let discussion = """
    An exact name goes before the longest suffix that fits, that before the cap of 4 that any host \
    has. BURST counts starts that may follow each other at once after a pause. HOSTS counts hosts with jobs that the pattern fits.
    """
  static let examples = [
    Example("haul host policies", "All that 'haul host set' has set."),
    Example("haul host policies --json", "The same for a program."),
  ]
  static let options: [Option<Self>] =
    group(\.limit) + group(\.output) + group(\.database)
  static let operands: [Operand<Self>] = [
    .repeated(
      "pattern", \.patterns, isRequired: false, "Hosts or patterns as they were set; all without."
    ).from(.names("policy"))
  ]

  var patterns: [HostArgument] = []
  var limit = LimitOptions()
  var output = OutputOptions()
  var database = DatabaseOptions()

  func perform() async throws {
    let rows = try await database.withQueue {
      try await $0.policies(patterns.map(\.argument), limit: limit.asked)
    }
    try output.print(
      rows, upTo: limit.limit, label: "haul host policies", PolicyRow.columns)
  }
}

extension PolicyRow {
  typealias Column = Listing<PolicyRow>.Column

  static let columns: [Column] = [
    Column("PATTERN", key: "pattern", value: { .string($0.pattern) }),
    Column("CAP", key: "cap", .right, value: { .number($0.cap) }),
    .interval { $0.interval },
    Column("BURST", key: "burst", .right, value: { .number($0.burst) }),
    Column("HOSTS", key: "hosts", .right, value: { .number($0.hosts) }),
  ]
}

extension Listing.Column {
  /// The least time between starts, in seconds for programs.
  static func interval(_ seconds: @escaping @Sendable (Row) -> Double) -> Self {
    Self(
      "INTERVAL", key: "min_interval", .right, value: { .double(seconds($0)) },
      text: { row in seconds(row) > 0 ? Duration.seconds(seconds(row)).argument : "-" })
  }
}
