import Arguments
import JobQueue

struct BatchWaitCommand: HaulCommand {
  static let name = "wait"
  static let abstract = "Wait until all jobs of a batch have ended."
  static let discussion = """
    Shows what runs meanwhile. The jobs do not depend on it: interrupted, it can be started again.
    """
  static let examples = [
    Example("haul batch wait monday", "Exits with 1 if some jobs failed or were cancelled."),
    Example("haul batch wait monday --json --quiet", "The result alone, for a program."),
  ]
  static let options: [Option<Self>] =
    group(\.progress) + group(\.output) + group(\.database)
  static let operands: [Operand<Self>] = [
    .required("name", \.batch, "The batch, as named at submission.")
  ]

  var batch = ""
  var progress = ProgressOptions()
  var output = OutputOptions()
  var database = DatabaseOptions()

  func perform() async throws {
    var selector = JobSelector()
    selector.batch = batch
    try await database.withQueue { [selector] in try await $0.requireNames(selector) }
    try await BatchWait(
      jobs: AwaitedJobs(batch: batch), label: "haul batch wait", database: database, output: output,
      display: progress.display(label: "haul batch wait")
    ).run()
  }
}
