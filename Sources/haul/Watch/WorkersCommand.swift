import Arguments
import HaulSystem
import JobModel
import JobQueue
import Reports
import Terminal

struct WorkersCommand: HaulCommand {
  static let name = "workers"
  static let abstract = "List workers and whether they live."
  static let discussion = """
    Those that stopped gracefully or died are left out, and counted on standard error; with --all, or by \
    their ids, they are listed too. The same holds for --json.
    """
  static let examples = [
    Example("haul workers", "Those that live."),
    Example("haul workers --all --json", "All that ever registered, for a program."),
  ]
  static let options: [Option<Self>] =
    [.flag("all", \.all, "Also those that stopped or died.")]
    + group(\.limit) + group(\.output) + group(\.database)
  static let operands: [Operand<Self>] = [
    .repeated(
      "worker", \.workers, isRequired: false, "Ids of workers, also of those that are gone."
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
        "haul workers: \(words.joined(separator: ", ")); --all lists them too\n")
    }
  }
}
