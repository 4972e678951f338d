import Arguments
import HaulSystem
import JobQueue
import Reports
import Terminal

struct BatchesCommand: HaulCommand {
  static let name = "batches"
  static let abstract = "List batches and the progress of their jobs."
  static let discussion = """
    The newest batches come first. If a job existed before a submission, it stays in its old batch. So a new \
    batch can have no jobs. Haul does not list batches without jobs, but prints their number on standard \
    error. To list these batches too, use --all or give their names. The list is fast on any pool because Haul \
    keeps the numbers up to date.

    BYTES counts finished files and parts of files. In JSON, waiting_bytes counts the parts of waiting jobs \
    separately. TIME LEFT is an estimate from the current rate. It assumes that waiting files are as long as \
    completed ones. TIME LEFT shows paused if the remaining jobs of the batch or their queues are \
    paused. 'haul why --batch NAME' shows which.
    """
  static let examples = [
    Example("haul batches", "Lists the newest batches."),
    Example("haul batches --all --limit 100000 --json", "Prints all batches as JSON."),
  ]
  static let options: [Option<Self>] =
    [.flag("all", \.all, "Also list batches that have no jobs.")]
    + group(\.limit) + group(\.output) + group(\.database)
  static let operands: [Operand<Self>] = [
    .repeated("batch", \.names, isRequired: false, "Names of batches. Default: all.").from(
      .names("batch"))
  ]

  var all = false
  var names: [String] = []
  var limit = LimitOptions()
  var output = OutputOptions()
  var database = DatabaseOptions()

  func perform() async throws {
    let (rows, empty) = try await database.withQueue { queue in
      (
        try await queue.batches(names, includingEmpty: all, limit: limit.asked),
        all || !names.isEmpty ? 0 : try await queue.batchCount(withJobs: false)
      )
    }
    try output.print(
      rows, upTo: limit, label: "haul batches", BatchRow.columns, json: BatchRow.moreColumns,
      note: BatchRow.word)
    if empty > 0 {
      let sentence =
        empty == 1
        ? "1 batch has no jobs. Use --all to list this batch too"
        : "\(empty) batches have no jobs. Use --all to list these batches too"
      StandardStream.say("haul batches: \(sentence)\n")
    }
  }
}
