import Arguments
import HaulSystem
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
    and their files stay; its name may be given again. Live workers whose --queue names it are listed on standard error: they go on, but \
    end with 78 when they are started again with it.
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
    let workers = try await database.writing.withQueue { [name = queue] queue in
      try await queue.deleteQueue(name)
      return try await queue.workers(includingGone: false)
        .filter { $0.queues?.contains(name) == true }
    }
    try output.print([.init("queue", .string(queue))], orSay: "queue \(queue) is deleted")
    for worker in workers {
      StandardStream.say(
        "haul queue delete: \(worker.name) names the queue in its --queue: take it out there, or the worker does not start again\n"
      )
    }
  }
}
