import Arguments
import JobQueue
import Reports
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
      rows, upTo: limit, label: "haul hosts", HostRow.columns, json: HostRow.moreColumns,
      note: HostRow.block)
  }
}
