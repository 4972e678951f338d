import Arguments
import HaulSystem
import JobQueue
import Reports
import Terminal

struct BatchesCommand: HaulCommand {
  static let name = "batches"
  static let abstract = "List batches with what has become of their jobs."
  static let discussion = """
    The newest first. Jobs that were there already stay in their own batch, so one may have none: these are left out, and counted \
    on standard error; with --all, or by their names, they are listed too. \
    The numbers are kept up and not counted, so this is quick on any pool. BYTES are those of files that are there and of parts of files; \
    for programs those of parts that wait are apart, as waiting_bytes. TIME LEFT is at the rate \
    of what runs, if what waits is as long as what has completed; paused where nothing will start until somebody says so.
    """
  static let examples = [
    Example("haul batches", "The newest batches."),
    Example("haul batches --all --limit 100000 --json", "All of them for a program."),
  ]
  static let options: [Option<Self>] =
    [.flag("all", \.all, "Also those without jobs of their own.")]
    + group(\.limit) + group(\.output) + group(\.database)
  static let operands: [Operand<Self>] = [
    .repeated("batch", \.names, isRequired: false, "Names of batches; all without.").from(
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
        ? "1 batch has no jobs of its own; --all lists it too"
        : "\(empty) batches have no jobs of their own; --all lists them too"
      StandardStream.say("haul batches: \(sentence)\n")
    }
  }
}
