import Arguments
import JobQueue
import Reports
import Terminal

extension IdleReason: OptionValue {}

struct HostsCommand: HaulCommand {
  static let name = "hosts"
  static let abstract = "List hosts, and why no more transfers start."
  static let discussion = """
    The busiest hosts come first. CAP is the transfer limit: how many transfers the whole pool may run at the \
    same time (default: 4). CAP shows 2 of 8 if the limit is 8 and Haul lowered it to 2 because the host \
    refused requests. 'haul host set' sets CAP and INTERVAL. WAITING is yes or no: whether jobs of the host \
    are ready to start. Paused and scheduled jobs do not count. IDLE says why no more transfers start:

    \(reasons)
      -           more transfers may start

    IDLE shows one reason. 'haul why --host HOST' shows all of them in sentences, and what to type.
    """
  /// The values of the column IDLE, one per line.
  private static let reasons = IdleReason.allCases.map { reason in
    let gap = String(repeating: " ", count: 12 - reason.rawValue.count)
    return "  \(reason.rawValue)\(gap)\(reason.meaning)"
  }.joined(separator: "\n")
  static let examples = [
    Example("haul hosts", "Lists the busiest hosts."),
    Example("haul hosts --limit 100000 --json", "Prints all hosts as JSON."),
    Example("haul hosts --why blocked", "Lists blocked hosts."),
    Example("haul hosts example.org", "Shows one host."),
  ]
  static let options: [Option<Self>] =
    [
      .value("why", "<reason>", \.reason, "Show only hosts with this reason in the column IDLE.")
    ] + group(\.limit) + group(\.output) + group(\.database)
  static let operands: [Operand<Self>] = [
    .repeated(
      "host", \.hosts, isRequired: false,
      "Names of hosts. Add the port if it is not the default port. Default: all."
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
      rows, upTo: limit, label: "haul hosts", HostRow.columns, json: HostRow.moreColumns,
      note: HostRow.block)
  }
}
