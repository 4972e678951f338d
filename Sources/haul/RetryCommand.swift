import Arguments
import JobQueue

struct RetryCommand: ControlCommand {
  static let action = JobQueue.Action.retry
  static let participle = "queued again"
  static let abstract = "Queue failed and cancelled jobs again."
  static let discussion = """
    Attempts so far no longer count against a job's limit. With --error only those that failed with that class.
    """
  static let examples = [
    Example("haul retry --batch films", "Queues the failed and cancelled jobs of films again."),
    Example(
      "haul retry --error connect --host example.org", "Those that could not reach one host."),
  ]

  var ids: [Int64] = []
  var selectors = SelectorOptions()
  var output = OutputOptions()
  var database = DatabaseOptions()
}
