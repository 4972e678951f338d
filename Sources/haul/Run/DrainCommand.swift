import Arguments
import HaulSystem
import JobModel
import JobQueue
import Reports
import Terminal

struct DrainCommand: HaulCommand {
  static let name = "drain"
  static let role: PoolRole? = .admin
  static let abstract = "Ask workers to stop in order."
  static let discussion = """
    A worker claims no more then, saves the progress of what it runs, hands it back for others to go on \
    with, and exits. Returns when they have been asked, not when they have stopped.
    """
  static let examples = [
    Example("haul drain 7", "Drains worker 7; 'haul workers' shows the ids."),
    Example("haul drain 7 --database service=pool", "The same in the pool of a libpq service."),
  ]
  static let options: [Option<Self>] =
    [.flag("dry-run", \.isDryRun, "Only name the workers; change nothing.")] + group(\.output)
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
        // Its name is asked for first: where this is a local pool's last worker, the database ends with it. And it is
        // drained even where there is none: who may not drain is told so, whatever the id.
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
          try output.print([.init("worker", .number(worker))], orSay: "\(name) drains")
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
        "\(stopped.joined(separator: ", ")) \(are) not running; see 'haul workers --all'")
    }
    if !reasons.isEmpty {
      throw ExitError(.badInput, reasons.joined(separator: "; ") + ".")
    }
  }
}
