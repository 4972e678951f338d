import Arguments
import JobQueue
import Reports
import Terminal

struct HostPoliciesCommand: HaulCommand {
  static let name = "policies"
  static let abstract = "List the limits that were set for hosts."
  static let discussion = """
    CAP is the transfer limit: how many transfers may run at the same time for each host. If several patterns \
    match a host, an exact name wins. Otherwise the pattern with the longest suffix wins. Without a match the \
    transfer limit is 4. BURST is how many transfers may start together after a time without starts. \
    HOSTS counts the hosts that match the pattern and have jobs.
    """
  static let examples = [
    Example("haul host policies", "Lists everything that 'haul host set' has set."),
    Example("haul host policies --json", "Prints this list as JSON."),
  ]
  static let options: [Option<Self>] =
    group(\.limit) + group(\.output) + group(\.database)
  static let operands: [Operand<Self>] = [
    .repeated(
      "pattern", \.patterns, isRequired: false,
      "Hosts or patterns, as they were given to 'haul host set'. Default: all."
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
