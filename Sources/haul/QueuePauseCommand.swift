import Arguments
import JobQueue
import Terminal

struct QueuePauseCommand: HaulCommand {
  static let name = "pause"
  static let abstract = "Start nothing more from a queue."
  static let discussion = """
    One word for the whole queue, at once: what runs runs on, and jobs submitted meanwhile wait too. 'haul pause \
    --queue' is another thing: it stops and holds each job that is there now.
    """
  static let examples = [
    Example("haul queue pause films", "Nothing of films starts."),
    Example("haul queue pause films --json", "The same for a program."),
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
    settings.paused = true
    try await database.withQueue { [settings] in try await $0.setQueue(queue, settings) }
    try output.print(
      [.init("queue", .string(queue)), .init("paused", .bool(true))],
      orSay: "queue \(queue) is paused; what runs runs on")
  }
}
