import Arguments
import JobQueue
import Reports

/// Shows the display of `batch wait` for a person. Failed jobs do not change the exit code, because the person only watches the
/// jobs. Scripts use `batch wait`.
struct WatchCommand: HaulCommand {
  static let name = "watch"
  static let abstract = "Follow a batch until all its jobs have ended."
  static let discussion = """
    The command shows the running jobs, the progress and the time left. At the end it shows the result of the \
    batch. It exits with 0 even if jobs failed. To exit with 1 if jobs failed, use 'haul batch wait'.
    """
  static let examples = [
    Example(
      "haul watch monday", "Follows the batch monday. Ctrl-C stops this command, not the jobs."),
    Example("haul watch monday tuesday", "Follows two batches together."),
  ]
  static let options: [Option<Self>] = group(\.database)
  static let operands: [Operand<Self>] = [
    .repeated("batch", \.batches, "The names of the batches.").from(.names("batch"))
  ]

  var batches: [String] = []
  var database = DatabaseOptions()

  func perform() async throws {
    let names = try await database.batches(batches)
    try await BatchWait(
      jobs: AwaitedJobs(batches: names), label: "haul watch",
      database: database.configuration, display: ProgressOptions().display(label: "haul watch"),
      isJudge: false
    ) { try OutputOptions().print($0, orSay: $1) }.run()
  }
}
