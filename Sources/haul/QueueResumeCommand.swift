import Arguments
import JobQueue
import Terminal

struct QueueResumeCommand: HaulCommand {
  static let name = "resume"
  static let abstract = "Let jobs of a paused queue start again."
  static let discussion = """
    Ends 'haul queue pause'. Jobs that were paused one by one stay so: for these, haul resume --queue.
    """
  static let examples = [
    Example("haul queue resume films", "What waits in films may start."),
    Example("haul queue resume films --json", "The same for a program."),
  ]
  static let options: [Option<Self>] = group(\.output) + group(\.database)
  static let operands: [Operand<Self>] = [
    .required("name", \.queue, "The queue.").from(.names("queue"))
  ]

  var queue = ""
  var output = OutputOptions()
  var database = DatabaseOptions()

  func perform() async throws {
    var settings = QueueSettings()
    settings.paused = false
    try await database.withQueue { [settings] in try await $0.setQueue(queue, settings) }
    try output.print(
      [.init("queue", .string(queue)), .init("paused", .bool(false))],
      orSay: "queue \(queue) goes on")
  }
}
