import Arguments
import JobQueue
import Terminal

struct HostUnblockCommand: HaulCommand {
  static let name = "unblock"
  static let abstract = "Let jobs of a blocked host start again."
  static let discussion = """
    Ends a block by 'haul host block' as well as one after failures or at the host's own wish, and gives \
    it its whole cap. A job that is to be tried again still waits for its time; see 'haul jobs --state scheduled'.
    """
  static let examples = [
    Example("haul host unblock example.org", "What waits for example.org may start."),
    Example("haul host unblock example.org --json", "The same for a program."),
  ]
  static let options: [Option<Self>] = group(\.output) + group(\.database)
  static let operands: [Operand<Self>] = [
    .required("name", \.host, "The host, as 'haul hosts' lists it.").from(.names("host"))
  ]

  var host = ""
  var output = OutputOptions()
  var database = DatabaseOptions()

  func perform() async throws {
    try await database.withQueue { try await $0.unblockHost(host) }
    try output.print(
      [.init("host", .string(host))],
      orSay: "\(host): unblocked")
  }
}
