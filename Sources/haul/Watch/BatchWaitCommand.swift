import Arguments
import JobQueue
import Reports

struct BatchWaitCommand: HaulCommand {
  static let name = "wait"
  static let abstract = "Wait until all jobs of the given batches have ended."
  static let discussion = """
    The command shows the running jobs and, at the end, the result of each batch. It exits with 0 if all jobs \
    are completed, and with 1 if some failed or were cancelled. The jobs do not depend on the command: you can \
    stop it with Ctrl-C (exit code 130) and start it again at any time.
    """
  static let examples = [
    Example(
      "haul batch wait monday",
      "Waits for one batch. Exits with 1 if some jobs failed or were cancelled."),
    Example(
      "haul batch wait monday tuesday --json --quiet", "Prints only the results, for a program."),
  ]
  static let options: [Option<Self>] =
    group(\.progress) + group(\.output) + group(\.database)
  static let operands: [Operand<Self>] = [
    .repeated("name", \.batches, "The names of the batches.").from(.names("batch"))
  ]

  var batches: [String] = []
  var progress = ProgressOptions()
  var output = OutputOptions()
  var database = DatabaseOptions()

  func perform() async throws {
    let names = try await database.batches(batches)
    try await BatchWait(
      jobs: AwaitedJobs(batches: names), label: "haul batch wait",
      database: database.configuration, display: progress.display(label: "haul batch wait")
    ) { [output] in try output.print($0, orSay: $1) }.run()
  }
}

extension DatabaseOptions {
  /// Returns the names in `given` without repeats.
  /// - Throws: `JobQueueError.noSuchName` for a batch that does not exist.
  func batches(_ given: [String]) async throws -> [String] {
    var names: [String] = []
    for name in given where !names.contains(name) { names.append(name) }
    try await withQueue { [names] queue in
      for name in names {
        var selector = JobSelector()
        selector.batch = name
        try await queue.requireNames(selector)
      }
    }
    return names
  }
}
