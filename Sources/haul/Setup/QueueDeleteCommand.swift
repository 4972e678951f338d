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
    If jobs of the queue wait or run, the command changes nothing and exits with 65. Haul deletes the settings \
    of the queue. It keeps ended jobs and their files. 'haul retry' can no longer queue the failed and \
    cancelled jobs of the queue. Submit their URLs to another queue instead. You can create a queue with the \
    same name later. If live workers name the queue in --queue, Haul lists them on standard error, and on a \
    terminal it asks for confirmation first. These workers continue to run. But a worker that starts again \
    with this --queue exits with 78.
    """
  static let examples = [
    Example("haul queue delete scratch", "Deletes the queue scratch."),
    Example("haul queue delete scratch --json", "Deletes the queue scratch and prints JSON."),
  ]
  static let options: [Option<Self>] =
    [
      .flag(
        "yes", \.isConfirmed,
        "Do not ask for confirmation. Without this option, Haul asks on a terminal if live workers name the queue in --queue."
      )
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
          "\(counted(workers.count, "live worker")) \(workers.count == 1 ? "names" : "name") the queue \(name) in --queue. Delete this queue of the pool \(ConnectedPool.name ?? "")?"
        )
      }
      try await queue.deleteQueue(name)
      return workers
    }
    try output.print([.init("queue", .string(queue))], orSay: "deleted the queue \(queue)")
    for worker in workers {
      StandardStream.say(
        "haul queue delete: \(worker.name) names the queue in --queue. Remove the queue from this option, or the worker cannot start again\n"
      )
    }
  }
}
