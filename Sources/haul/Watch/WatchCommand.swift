import Arguments
import JobQueue
import Reports

/// `batch wait` for somebody who looks on: the same picture, but what has become of the jobs is told and not made an exit code. A
/// script that must know waits; a person who only looks does not want a failure of theirs to end a chain of commands here.
struct WatchCommand: HaulCommand {
  static let name = "watch"
  static let abstract = "Follow a batch until all its jobs have ended."
  static let discussion = """
    Shows what runs, how far all is and how long it will take, and at the end what has become of the batch. It only looks on: \
    also where jobs failed it exits with 0, while 'haul batch wait' exits with 1.
    """
  static let examples = [
    Example("haul watch monday", "Until monday has ended; Ctrl-C stops looking, not the jobs."),
    Example("haul watch monday tuesday", "Both together."),
  ]
  static let options: [Option<Self>] = group(\.database)
  static let operands: [Operand<Self>] = [
    .repeated("batch", \.batches, "The batches, as named at submission.").from(.names("batch"))
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
