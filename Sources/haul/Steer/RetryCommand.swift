import Arguments
import HaulTransfer
import JobQueue

struct RetryCommand: ControlCommand {
  static let action = JobAction.retry
  static let abstract = "Queue failed and cancelled jobs again."
  static let discussion = """
    Attempts so far no longer count against a job's limit. With --error only those that failed with that class. A job that \
    failed with exists fails again while the file stands there, unless --if-exists says otherwise. A job that waits for its \
    next try, and is named by its id, waits no longer, but for its host where that is blocked.
    """
  static let examples = [
    Example("haul retry --batch films", "Queues the failed and cancelled jobs of films again."),
    Example("haul retry 17", "Queues job 17 again, or lets it wait no longer for its next try."),
    Example(
      "haul retry --error connect --host example.org", "Those that could not reach one host."),
    Example(
      "haul retry --error exists --if-exists replace",
      "Those that met a file under their name, which they now replace."),
  ]
  static let options: [Option<Self>] =
    [
      .value(
        "if-exists", "<policy>", \.ifExists,
        "What they do from now on when a file stands under the final name; without it what they did."
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
