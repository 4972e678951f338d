import Arguments
import HaulSystem
import JobModel
import JobQueue
import Reports
import Terminal

struct WorkersCommand: HaulCommand {
  static let name = "workers"
  static let abstract = "List workers, and show whether each one is running."
  static let discussion = """
    STATE says whether a worker is running:

      alive     it runs and sends heartbeats
      trouble   it runs, but cannot write to a store
      silent    it has sent no heartbeat for 3 seconds
      draining  it claims no more jobs and will stop
      dead      it has died: other workers take over its jobs
      stopped   it has stopped gracefully

    RUNNING shows 16+2 if 16 jobs run and 2 more wait for a disk or for a host that does not answer. OF is the \
    value of --concurrency. SEEN is the time since the last heartbeat.

    Haul does not list workers that stopped or died, but prints their number on standard error. To list these \
    workers too, use --all or give their ids. Without --all, the output of --json also leaves out these \
    workers.
    """
  static let examples = [
    Example("haul workers", "Lists live workers."),
    Example(
      "haul workers --all --json", "Prints all workers as JSON, including stopped and dead workers."
    ),
  ]
  static let options: [Option<Self>] =
    [.flag("all", \.all, "Also list workers that stopped or died.")]
    + group(\.limit) + group(\.output) + group(\.database)
  static let operands: [Operand<Self>] = [
    .repeated(
      "worker", \.workers, isRequired: false, "Ids of workers, including stopped and dead workers."
    )
    .from(.names("worker"))
  ]

  var all = false
  var workers: [Int64] = []
  var limit = LimitOptions()
  var output = OutputOptions()
  var database = DatabaseOptions()

  func perform() async throws {
    let (rows, counts) = try await database.withQueue { queue in
      (
        try await queue.workers(workers, includingGone: all, limit: limit.asked),
        all || !workers.isEmpty ? [] : try await queue.workerCounts()
      )
    }
    try output.print(
      rows, upTo: limit, label: "haul workers", WorkerRow.columns,
      json: WorkerRow.moreColumns, note: \.trouble)
    let words = [(WorkerState.dead, "died"), (.stopped, "stopped gracefully")].compactMap {
      state, word in
      let gone = counts.workers(state)
      return gone > 0 ? "\(counted(Int(gone), "worker")) \(word)" : nil
    }
    if !words.isEmpty {
      StandardStream.say(
        "haul workers: \(words.joined(separator: ", ")). Use --all to list stopped and dead workers too\n"
      )
    }
  }
}
