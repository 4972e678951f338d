import Arguments
import HaulSystem
import JobModel
import JobQueue
import Terminal

struct HostUnsetCommand: HaulCommand {
  static let name = "unset"
  static let role: PoolRole? = .admin
  static let abstract = "Remove the limits that were set for a host."
  static let discussion = """
    Each host then gets the limits of the pattern with the longest suffix that still matches. Without a match \
    the transfer limit is 4, with no start interval.
    """
  static let examples = [
    Example("haul host unset example.org", "Removes the limits of example.org."),
    Example("haul host unset '*.example.org'", "Removes the limits of the pattern."),
  ]
  static let options: [Option<Self>] = group(\.output) + group(\.database)
  static let operands: [Operand<Self>] = [
    .required("name", \.host, "The host or pattern, as 'haul host policies' lists it.").from(
      .names("policy"))
  ]

  var host = HostArgument.unset
  var output = OutputOptions()
  var database = DatabaseOptions()

  func perform() async throws {
    let (name, areSet) = try await database.writing.withQueue { queue in
      try await host.orAsTyped { try await queue.unsetHost($0) }
    }
    try output.print(
      [.init("host", .string(name))], orSay: "\(name) no longer has limits of its own")
    if !areSet { StandardStream.say("haul host unset: \(HostSetCommand.laterNote)\n") }
  }
}
