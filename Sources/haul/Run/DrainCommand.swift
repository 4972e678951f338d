import Arguments
import HaulSystem
import JobModel
import JobQueue
import Reports
import Terminal

struct DrainCommand: HaulCommand {
  static let name = "drain"
  static let role: PoolRole? = .admin
  static let abstract = "Ask workers to stop gracefully."
  static let discussion = """
    A draining worker claims no more jobs. It saves the progress of its running jobs, gives these jobs back to \
    the pool and exits. Workers that mount the same directory continue the jobs immediately. If there are \
    none, other workers start the files again from the first byte after five minutes.

    The command asks the workers to drain and returns immediately. It does not wait until the workers have stopped.
    """
  static let examples = [
    Example("haul drain 7", "Drains worker 7. 'haul workers' shows the ids."),
    Example(
      "haul drain 7 --database service=pool",
      "Drains a worker of the pool that a libpq service names."),
  ]
  static let options: [Option<Self>] =
    [.flag("dry-run", \.isDryRun, "Show which workers would be drained, and change nothing.")]
    + group(\.output)
    + group(\.database)
  static let operands: [Operand<Self>] = [
    .repeated("worker", \.workers, "Ids of workers.").from(.names("worker"))
  ]

  var workers: [Int64] = []
  var isDryRun = false
  var output = OutputOptions()
  var database = DatabaseOptions()

  func perform() async throws {
    let (absent, stopped) = try await database.writing.withQueue { queue in
      var (absent, stopped): ([Int64], [String]) = ([], [])
      let live = try await queue.workers(includingGone: false)
        .filter { !workers.contains($0.worker) }
      for worker in workers {
        // The name is read first, because the database of a local pool stops with its last worker. The drain is tried even if
        // the worker does not exist, so that a user without permission gets the same error for every id.
        let row = try await queue.worker(worker)
        let name = row?.name
        if let warning = row.flatMap(live.warning(without:)) {
          StandardStream.say("haul drain: \(warning)\n")
        }
        if isDryRun {
          if let name {
            try output.print(
              [.init("dry_run", .bool(true)), .init("worker", .number(worker))],
              orSay: "would drain \(name)")
          } else {
            absent.append(worker)
          }
          continue
        }
        let isRunning = try await queue.drainWorker(worker)
        guard let name else {
          absent.append(worker)
          continue
        }
        if isRunning {
          try output.print([.init("worker", .number(worker))], orSay: "\(name) is draining")
        } else {
          stopped.append(name)
        }
      }
      return (absent, stopped)
    }
    var reasons = absent.map { "there is no worker \($0)" }
    if !stopped.isEmpty {
      let are = stopped.count == 1 ? "is" : "are"
      reasons.append(
        "\(OneOf.listed(stopped, by: "and")) \(are) not running: see 'haul workers --all'")
    }
    if !reasons.isEmpty {
      let pool = stopped.isEmpty ? ConnectedPool.clause : ""
      throw ExitError(.badInput, reasons.joined(separator: "; ") + "\(pool).")
    }
  }
}
