import Arguments
import JobModel
import JobQueue
import Terminal

struct QueueDeleteCommand: HaulCommand {
  static let name = "delete"
  static let role: PoolRole? = .admin
  static let abstract = "Delete a queue of which nothing waits or runs."
  static let discussion = """
    While jobs of it wait or run nothing happens, and the command ends with 65. Lost are its settings, and that 'haul retry' \
    queues its failed and cancelled jobs again: their URLs are to be submitted to another queue. Its ended jobs stay listed, \
    and their files stay; its name may be given again.
    """
  static let examples = [
    Example("haul queue delete scratch", "Deletes the queue scratch."),
    Example("haul queue delete scratch --json", "The same for a program."),
  ]
  static let options: [Option<Self>] = group(\.output) + group(\.database)
  static let operands: [Operand<Self>] = [
    .required("name", \.queue, "The queue.").from(.names("queue"))
  ]

  var queue = ""
  var output = OutputOptions()
  var database = DatabaseOptions()

  func perform() async throws {
    try await database.writing.withQueue { try await $0.deleteQueue(queue) }
    try output.print([.init("queue", .string(queue))], orSay: "queue \(queue) is deleted")
  }
}
