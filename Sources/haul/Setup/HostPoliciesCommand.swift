import Arguments
import JobQueue
import Reports
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
      rows, upTo: limit, label: "haul host policies", PolicyRow.columns)
  }
}
