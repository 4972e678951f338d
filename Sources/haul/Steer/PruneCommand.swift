import Arguments
import HaulSystem
import JobModel
import JobQueue
import Terminal

struct PruneCommand: HaulCommand {
  static let name = "prune"
  static let role: PoolRole? = .admin
  static let abstract = "Remove jobs that have ended from the database."
  static let discussion = """
    Haul removes completed, failed and cancelled jobs with their attempts. It never removes a job that waits or \
    runs, and it does not touch files. The totals of batches and the history of the throughput stay. Haul also \
    remembers the paths of completed jobs: if you submit such a path again, Haul skips it. 'haul queue set \
    --help' explains how long.

    Without --older, Haul removes the jobs whose retention has ended. A worker or coordinator does this by \
    itself, within a thirtieth of the retention.

    Each transaction removes at most 1,000 jobs. You can stop the command at any time and run it again.
    """
  static let examples = [
    Example(
      "haul prune --older 30d --dry-run", "Counts the jobs that ended 30 days ago or earlier."),
    Example(
      "haul prune --older 30d --state completed --export old.jsonl",
      "Removes completed jobs, and keeps a copy of each as a line of JSON."),
    Example("haul prune --older 0 --batch films", "Removes all ended jobs of a batch."),
  ]
  static let options: [Option<Self>] =
    [
      .value(
        "older", "<time>", \.older,
        "Remove jobs that ended at least this long ago. Example: 30d. Default: the retention of each job's queue."
      ),
      .value(
        "state", "<state>", \.state,
        "Remove only jobs in this state: completed, failed or cancelled."),
      .value("queue", "<name>", \.queue, "Remove only jobs of this queue.").from(.names("queue")),
      .value("batch", "<name>", \.batch, "Remove only jobs of this batch.").from(.names("batch")),
      .value(
        "export", "<file>", \.exportPath,
        "Append each job to this file before it is removed, as a line of JSON with its complete URL. Only you can read the file."
      ).from(.files),
      .flag("dry-run", \.isDryRun, "Count the jobs, and remove none."),
    ] + group(\.output) + group(\.database)

  var older: Duration?
  var state: JobState?
  var queue: String?
  var batch: String?
  var exportPath: String?
  var isDryRun = false
  var output = OutputOptions()
  var database = DatabaseOptions()

  func perform() async throws {
    var selector = PruneSelector()
    selector.older = older.map { $0 / .seconds(1) }
    selector.state = state
    selector.queue = queue
    selector.batch = batch
    let steps = CountLine(isDryRun ? "found" : "removed")
    let append = try export()
    let count = try await database.writing.withQueue { [selector] queue in
      try await queue.prune(selector, isDryRun: isDryRun, export: append, observe: steps.show)
    }
    steps.clear()
    let jobs = counted(count, "job")
    var members = [JSONValue.Member("jobs", .number(count))]
    if isDryRun { members.insert(.init("dry_run", .bool(true)), at: 0) }
    try output.print(members, orSay: isDryRun ? "would remove \(jobs)" : "\(jobs) removed")
  }

  /// Returns a function that appends jobs to the file of --export; nil without the option.
  private func export() throws -> (@Sendable ([String]) throws -> Void)? {
    guard let exportPath, !isDryRun else { return nil }
    let file = try AppendedFile(exportPath)
    return { try file.append($0) }
  }
}
