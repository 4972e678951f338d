import Arguments
import HaulTransfer
import JobQueue

struct RetryCommand: ControlCommand {
  static let action = JobAction.retry
  static let abstract = "Queue failed and cancelled jobs again."
  static let discussion = """
    Earlier attempts of these jobs no longer count towards their limit of attempts. With --error, Haul retries \
    only jobs that failed with that error class. A job that failed with the error class "exists" fails again \
    while a file with its final name exists, unless you give --if-exists. If you name a job by id while it \
    waits for its next attempt, Haul ends the wait, unless the host is blocked.
    """
  static let examples = [
    Example("haul retry --batch films", "Queues the failed and cancelled jobs of films again."),
    Example("haul retry 17", "Queues job 17 again, or starts its next attempt now."),
    Example(
      "haul retry --error connect --host example.org",
      "Retries the jobs that could not reach example.org."),
    Example(
      "haul retry --error exists --if-exists replace",
      "Retries the jobs whose file already existed, and replaces these files."),
  ]
  static let options: [Option<Self>] =
    [
      .value(
        "if-exists", "<policy>", \.ifExists,
        "What to do from now on if a file with the final name exists. Without this option, each job keeps its setting."
      )
    ] + group(\.selectors) + group(\.confirm) + group(\.output) + group(\.database)

  var ifExists: CollisionPolicy?
  var ids: [Int64] = []
  var selectors = SelectorOptions()
  var confirm = ConfirmOptions()
  var output = OutputOptions()
  var database = DatabaseOptions()

  func change(
    _ queue: JobQueue, _ selector: JobSelector, onStep: (Int) -> Void
  ) async throws -> Int {
    guard let ifExists else {
      return try await queue.control(.retry, selector, onStep: onStep)
    }
    return try await queue.retry(selector, ifExists: ifExists.rawValue, onStep: onStep)
  }
}
