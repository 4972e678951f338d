import Arguments
import HaulSystem
import JobModel
import JobQueue
import Reports
import Terminal

struct WhyCommand: HaulCommand {
  static let name = "why"
  static let abstract = "Say why jobs do not start, and what to type."
  static let discussion = """
    Looks at the jobs that have not ended: at most the first thousand of a queue or host. It knows of paused jobs and queues, \
    of hosts that are blocked, full or silent, of queues that no worker serves, of workers in trouble and of jobs that wait for \
    their time.
    """
  static let examples = [
    Example("haul why --batch films", "Why nothing of films starts."),
    Example("haul why --host example.org", "The same of all jobs of a host."),
    Example("haul why 17", "The same of one job."),
  ]
  static let options: [Option<Self>] = group(\.selectors) + group(\.output) + group(\.database)
  static let operands: [Operand<Self>] = [
    .repeated("id", \.ids, isRequired: false, "Ids of jobs.")
  ]

  var ids: [Int64] = []
  var selectors = SelectorOptions()
  var output = OutputOptions()
  var database = DatabaseOptions()

  /// The most jobs that are looked at one by one.
  private static let looked = 1000

  func perform() async throws {
    let selector = try selectors.required(ids: ids)
    let (counts, obstacle) = try await database.withQueue {
      queue -> ([(state: JobState, count: Int)], Obstacle?) in
      let counts = try await queue.affected(selector, in: JobAction.live)
      return (counts, try await lookFor(selector, counts, queue))
    }
    let standing = JobsStanding(counts: counts, obstacle: obstacle)
    try output.print(
      [
        .init("jobs", .number(standing.total)), .init("running", .number(standing.running)),
        .init("obstacle", .text(obstacle?.kind.rawValue)),
        .init("reason", .text(obstacle?.sentence(of: words))),
      ], orSay: standing.paragraph(of: words))
  }

  /// What stands in the way of the jobs that wait.
  private func lookFor(
    _ selector: JobSelector, _ counts: [(state: JobState, count: Int)], _ queue: JobQueue
  ) async throws -> Obstacle? {
    var ofBatch = JobSelector()
    ofBatch.batch = selector.batch
    if let batch = selector.batch, selector == ofBatch {
      return try await queue.obstacle(to: AwaitedJobs(batches: [batch]))
    }
    var jobs: [Int64] = []
    for (state, _) in counts where state != .running && jobs.count < Self.looked {
      var part = selector
      part.state = state
      jobs += try await queue.jobs(part, limit: Self.looked - jobs.count).map(\.job)
    }
    return try await queue.obstacle(to: AwaitedJobs(batches: [], others: jobs))
  }

  /// The arguments that select the same jobs for another command.
  private var words: String {
    var words = ids.map(String.init)
    for (name, value) in [
      ("batch", selectors.batch), ("queue", selectors.queue), ("host", selectors.host?.argument),
      ("state", selectors.state?.rawValue), ("error", selectors.error?.rawValue),
    ] {
      if let value { words += ["--\(name)", shellWord(value)] }
    }
    return words.joined(separator: " ")
  }
}
