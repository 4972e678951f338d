import Arguments
import JobQueue
import Terminal

struct DrainCommand: HaulCommand {
  static let name = "drain"
  static let abstract = "Ask a worker to stop in order."
  static let discussion = """
    The worker claims no more, saves the progress of what it runs, hands it back for others to go on \
    with, and exits. Returns when it has been asked, not when it has stopped.
    """
  static let examples = [
    Example("haul drain 7", "Drains worker 7; 'haul workers' shows the ids."),
    Example("haul drain 7 --database service=pool", "The same in the pool of a libpq service."),
  ]
  static let options: [Option<Self>] = group(\.output) + group(\.database)
  static let operands: [Operand<Self>] = [
    .required("worker", \.worker, "The worker's id.").from(.names("worker"))
  ]

  var worker: Int64 = 0
  var output = OutputOptions()
  var database = DatabaseOptions()

  func perform() async throws {
    let (isRunning, row) = try await database.withQueue { queue in
      (try await queue.drainWorker(worker), try await queue.worker(worker))
    }
    let name = row?.name ?? "worker \(worker)"
    guard isRunning else {
      throw ExitError(.badInput, "\(name) is not running; see 'haul workers --all'.")
    }
    try output.print([.init("worker", .number(worker))], orSay: "\(name) drains")
  }
}
