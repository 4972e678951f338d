import Arguments
import HaulSystem
import JobModel
import JobQueue
import Reports
import Terminal

struct HostBlockCommand: HaulCommand {
  static let name = "block"
  static let role: PoolRole? = .admin
  static let abstract = "Stop starting transfers from a host for a while."
  static let discussion = """
    Jobs of the host wait and do not fail. Running transfers continue. Without --for, the block lasts until \
    you run 'haul host unblock'. To stop running transfers too, use 'haul pause --host'.
    """
  static let examples = [
    Example("haul host block example.org --for 2h", "Blocks example.org for two hours."),
    Example("haul host block example.org", "Blocks example.org until you unblock it."),
  ]
  static let options: [Option<Self>] =
    [
      .value(
        "for", "<duration>", \.time, in: .seconds(1) ... .seconds(365 * 86_400),
        "The length of the block, such as 90s, 2h or 1d.")
    ] + group(\.output) + group(\.database)
  static let operands: [Operand<Self>] = [
    .required("name", \.host, "A host such as example.org or example.org:8443.")
      .from(.names("host"))
  ]

  var host = HostArgument.unset
  var time: Duration?
  var output = OutputOptions()
  var database = DatabaseOptions()

  func perform() async throws {
    let host = host.argument
    let note = try await database.writing.withQueue { queue in
      try await queue.blockHost(host, for: time)
      return try await queue.note(onHost: host, undo: "haul host unblock")
    }
    try output.print(
      [
        .init("host", .string(host)),
        .init("seconds", time.map { .double($0 / .seconds(1)) } ?? .null),
      ],
      orSay:
        "\(host): blocked \(time.map { "for \($0.argument)" } ?? "until you unblock it")"
    )
    if let note { StandardStream.say("haul host block: \(note)\n") }
  }
}
