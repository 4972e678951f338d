import Arguments
import HaulSystem
import JobModel
import JobQueue
import Reports
import Terminal

struct HostUnblockCommand: HaulCommand {
  static let name = "unblock"
  static let role: PoolRole? = .admin
  static let abstract = "Let jobs of a blocked host start again."
  static let discussion = """
    The command ends a block that an operator set, that the host asked for, or that Haul set after failures. \
    The host gets its full transfer limit again. Jobs that wait for their next attempt still wait: see 'haul \
    jobs --state scheduled'.
    """
  static let examples = [
    Example("haul host unblock example.org", "Lets the waiting jobs of example.org start."),
    Example("haul host unblock example.org --json", "Unblocks example.org and prints JSON."),
  ]
  static let options: [Option<Self>] = group(\.output) + group(\.database)
  static let operands: [Operand<Self>] = [
    .required("name", \.host, "The host, as 'haul hosts' lists it.").from(.names("listed host"))
  ]

  var host = HostArgument.unset
  var output = OutputOptions()
  var database = DatabaseOptions()

  func perform() async throws {
    let (name, scheduled) = try await database.writing.withQueue { queue in
      try await host.orAsTyped { try await queue.unblockHost($0) }
    }
    try output.print(
      [.init("host", .string(name)), .init("scheduled", .number(scheduled.jobs))],
      orSay: "\(name): unblocked" + Self.sentence(scheduled, of: name))
  }

  /// Returns the text about jobs that still wait: `. 3 jobs still wait for their start times, the next in 12s, the last in
  /// 4m10s. List them with: haul jobs …`
  static func sentence(_ scheduled: JobQueue.Scheduled, of host: String) -> String {
    if scheduled.jobs == 0 { return "" }
    let next = HumanFormat.duration(scheduled.next)
    let last = HumanFormat.duration(scheduled.last)
    let wait = scheduled.jobs == 1 ? "job still waits" : "jobs still wait"
    let times =
      next == last
      ? " and can start in \(next)" : ". The first can start in \(next), the last in \(last)"
    return
      ". \(scheduled.jobs) \(wait)\(times). List \(scheduled.jobs == 1 ? "it" : "them") with: "
      + "haul jobs --state scheduled --host \(shellWord(host))"
  }
}
