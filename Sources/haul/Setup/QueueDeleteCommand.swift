import Arguments
import HaulSystem
import JobModel
import JobQueue
import Terminal

struct QueueDeleteCommand: HaulCommand {
  static let name = "delete"
  static let role: PoolRole? = .admin
  static let abstract = "Delete a queue that has no waiting or running jobs."
  static let discussion = """
    If jobs of the queue wait or run, the command changes nothing and exits with 65. Haul deletes the \
    settings of the queue. It keeps ended jobs and their files. 'haul retry' can no longer queue failed and \
    cancelled jobs of the queue: submit their URLs to another queue. You can create a queue with the same \
    name later. On standard error, Haul lists the live workers that name the queue in --queue. On a \
    terminal it asks first. These workers continue, but exit with 78 if they start with that option again.
    """
  static let examples = [
    Example("haul queue delete scratch", "Deletes the queue scratch."),
    Example("haul queue delete scratch --json", "Does the same and prints JSON."),
  ]
  static let options: [Option<Self>] =
    [
      .flag(
        "yes", \.isConfirmed,
        "Do not ask for confirmation. Haul asks on a terminal if live workers name the queue.")
    ] + group(\.output) + group(\.database)
  static let operands: [Operand<Self>] = [
    .required("name", \.queue, "The queue.").from(.names("queue"))
  ]

  var queue = ""
  var isConfirmed = false
  var output = OutputOptions()
  var database = DatabaseOptions()

  func perform() async throws {
    let workers = try await database.writing.withQueue { [name = queue, isConfirmed] queue in
      let workers = try await queue.workers(includingGone: false)
        .filter { $0.queues?.contains(name) == true }
      if !workers.isEmpty, !isConfirmed, Confirmation.isPossible {
        try Confirmation.require(
          "\(counted(workers.count, "live worker")) \(workers.count == 1 ? "names" : "name") the queue \(name) in the pool \(ConnectedPool.name ?? ""). Delete it?"
        )
      }
      try await queue.deleteQueue(name)
      return workers
    }
    try output.print([.init("queue", .string(queue))], orSay: "deleted the queue \(queue)")
    for worker in workers {
      StandardStream.say(
        "haul queue delete: \(worker.name) names the queue in its --queue. Remove it there, or the worker cannot start again\n"
      )
    }
  }
}
