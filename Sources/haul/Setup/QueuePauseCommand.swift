import Arguments
import JobModel
import JobQueue
import Terminal

/// The common part of `queue pause` and `queue resume`: a queue, and whether it is paused from now on.
protocol QueueSwitchCommand: HaulCommand {
  static var isPaused: Bool { get }
  /// The end of the message, after the queue's name, such as `is resumed`.
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
  static let consequence = "is paused; running jobs continue"
  static let abstract = "Stop starting jobs from a queue."
  static let discussion = """
    The pause applies immediately, to the whole queue. Running jobs continue. Waiting jobs and jobs that you \
    submit later do not start. 'haul pause --queue' does something else: it stops and pauses each job that the \
    queue has now. 'haul pause --help' compares both.
    """
  static let examples = [
    Example("haul queue pause films", "Starts no more jobs of films."),
    Example("haul queue pause films --json", "Pauses the queue films and prints JSON."),
  ]

  var queue = ""
  var output = OutputOptions()
  var database = DatabaseOptions()
}
