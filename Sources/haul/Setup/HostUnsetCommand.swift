import Arguments
import JobModel
import JobQueue
import Terminal

struct HostUnsetCommand: HaulCommand {
  static let name = "unset"
  static let role: PoolRole? = .admin
  static let abstract = "Forget what was set for a host."
  static let discussion = """
    Its hosts get the cap and interval of the longest suffix that still fits, or the cap of 4 that any host has.
    """
  static let examples = [
    Example("haul host unset example.org", "What was set for example.org."),
    Example("haul host unset '*.example.org'", "What was set for the hosts below it."),
  ]
  static let options: [Option<Self>] = group(\.output) + group(\.database)
  static let operands: [Operand<Self>] = [
    .required("name", \.host, "As it was set; 'haul host policies' lists them.").from(
      .names("policy"))
  ]

  var host = HostArgument.unset
  var output = OutputOptions()
  var database = DatabaseOptions()

  func perform() async throws {
    let (name, _) = try await database.writing.withQueue { queue in
      try await host.orAsTyped { try await queue.unsetHost($0) }
    }
    try output.print([.init("host", .string(name))], orSay: "\(name) has no policy of its own now")
  }
}
