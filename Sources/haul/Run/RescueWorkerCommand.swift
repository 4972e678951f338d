import Arguments
import HaulSystem
import JobModel
import JobQueue
import Reports
import Terminal

struct RescueWorkerCommand: HaulCommand {
  static let name = "worker"
  static let role: PoolRole? = .admin
  static let abstract = "Hand a worker's jobs to other workers immediately."
  static let discussion = """
    Use this command for a worker that hangs but still sends heartbeats. If a worker sends no heartbeat for 15 \
    seconds, the pool hands over its jobs by itself. For a healthy worker use 'haul drain', which also keeps \
    the latest progress.

    Haul fences the worker: the pool ignores what the worker reports about these jobs and gives it no other \
    jobs. Other workers continue from the progress that the worker saved last. A fenced worker that still runs \
    notices this with its next heartbeat, within 2 seconds. It then stops writing, gives up all its jobs and \
    exits with 0. A worker that cannot reach the database stops writing at most 15 seconds after its last \
    heartbeat. A fenced worker can no longer give a file its final name.
    """
  static let examples = [
    Example("haul rescue worker 7", "Rescues the jobs of worker 7. 'haul workers' shows the ids."),
    Example("haul rescue worker 7 --json", "Prints the number of jobs as JSON."),
  ]
  static let options: [Option<Self>] = group(\.output) + group(\.database)
  static let operands: [Operand<Self>] = [
    .repeated("worker", \.workers, "Ids of workers.").from(.names("worker"))
  ]

  var workers: [Int64] = []
  var output = OutputOptions()
  var database = DatabaseOptions()

  func perform() async throws {
    let absent = try await database.writing.withQueue { queue in
      var absent: [Int64] = []
      let live = try await queue.workers(includingGone: false)
        .filter { !workers.contains($0.worker) }
      for worker in workers {
        // The name is read first, because the database of a local pool stops with its last worker.
        let row = try await queue.worker(worker)
        let name = row?.name
        let warning = row.flatMap(live.warning(without:))
        if let warning {
          StandardStream.say("haul rescue worker: \(warning)\n")
        }
        guard let rescued = try await queue.rescueWorker(worker), let name else {
          absent.append(worker)
          continue
        }
        try output.print(
          [
            .init("worker", .number(worker)), .init("jobs", .number(rescued.jobs)),
            .init("ended", .bool(rescued.hadEnded)), .init("kept", .number(rescued.kept)),
          ], orSay: "\(name) \(Self.sentence(rescued, hasSuccessor: warning == nil))")
      }
      return absent
    }
    if !absent.isEmpty {
      let reasons = absent.map { "there is no worker \($0)" }
      throw ExitError(.badInput, reasons.joined(separator: "; ") + "\(ConnectedPool.clause).")
    }
  }

  private static func sentence(_ rescued: JobQueue.RescuedWorker, hasSuccessor: Bool) -> String {
    let jobs = rescued.jobs == 1 ? "the job" : "the \(rescued.jobs) jobs"
    let next = hasSuccessor ? "Other workers take over" : "Another worker can take over"
    let start =
      rescued.hadEnded ? "has already ended" : "is fenced and can no longer report on jobs"
    if rescued.kept > 0 {
      return
        "\(start). \(next) \(rescued.jobs) of the \(rescued.jobs + rescued.kept) jobs now, and the other jobs when another database session has unlocked their hosts"
    }
    return rescued.jobs == 0
      ? "\(start). It had no jobs" : "\(start). \(next) \(jobs) of this worker"
  }
}
