import Arguments
import JobModel
import JobQueue
import Terminal

/// What `queue pause` and `queue resume` have in common: a queue, and whether it is paused from now on.
protocol QueueSwitchCommand: HaulCommand {
  static var isPaused: Bool { get }
  /// What follows from it, to follow the queue's name: `goes on`.
  static var consequence: String { get }
  var queue: String { get set }
  var output: OutputOptions { get set }
  var database: DatabaseOptions { get set }
}

extension QueueSwitchCommand {
  static var role: PoolRole? { .admin }
  static var options: [Option<Self>] { group(\.output) + group(\.database) }
  static var operands: [Operand<Self>] {
    [.required("name", \.queue, "The queue.").from(.names("queue"))]
  }

  func perform() async throws {
    var settings = QueueSettings()
    settings.paused = Self.isPaused
    try await database.writing.withQueue { [settings] in try await $0.setQueue(queue, settings) }
    try output.print(
      [.init("queue", .string(queue)), .init("paused", .bool(Self.isPaused))],
      orSay: "queue \(queue) \(Self.consequence)")
  }
}

struct QueuePauseCommand: QueueSwitchCommand {
  static let name = "pause"
  static let isPaused = true
  static let consequence = "is paused; what runs runs on"
  static let abstract = "Start nothing more from a queue."
  static let discussion = """
    One word for the whole queue, at once: what runs runs on, and jobs submitted meanwhile wait too. 'haul pause \
    --queue' is another thing: it stops and holds each job that is there now.
    """
  static let examples = [
    Example("haul queue pause films", "Nothing of films starts."),
    Example("haul queue pause films --json", "The same for a program."),
  ]

  var queue = ""
  var output = OutputOptions()
  var database = DatabaseOptions()
}
