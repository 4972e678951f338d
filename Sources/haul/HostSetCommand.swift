import Arguments
import JobQueue
import Terminal

struct HostSetCommand: HaulCommand {
  static let name = "set"
  static let abstract = "Set how many transfers at once a host may see."
  static let discussion = """
    The cap holds for the whole pool and for starts from now on; what runs above a lower cap is \
    left to end. An exact name goes before the longest suffix that fits, that before the cap of 4 that any \
    host has.
    """
  static let examples = [
    Example("haul host set example.org --cap 2", "At most two transfers from example.org."),
    Example("haul host set '*.example.org' --cap 8", "Eight from each host below example.org."),
  ]
  static let options: [Option<Self>] =
    [.value("cap", "<n>", \.cap, in: 1...10_000, "Transfers at once; must be given.")]
    + group(\.output) + group(\.database)
  static let operands: [Operand<Self>] = [
    .required("name", \.host, "A host such as example.org or example.org:8443, or '*.suffix'.")
      .from(.names("host"))
  ]

  var host = ""
  var cap: Int?
  var output = OutputOptions()
  var database = DatabaseOptions()

  func perform() async throws {
    guard let cap else { throw ExitError(.usage, "option '--cap' is missing.") }
    try await database.withQueue { try await $0.setHost(host, cap: cap) }
    try output.print(
      [.init("host", .string(host)), .init("cap", .number(cap))],
      orSay: "\(host): at most \(counted(cap, "transfer")) at once")
  }
}
