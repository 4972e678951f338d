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
    Looks at the jobs that have not ended, those of the whole pool if none are named: at most the first thousand, or a whole batch. \
    It knows of paused jobs and queues, \
    of hosts that are blocked, full or silent, of queues that no worker serves, of workers in trouble and of jobs that wait for \
    their time.
    """
  static let examples = [
    Example("haul why", "Why nothing more starts in this pool."),
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
    let selector = selectors.selector(ids: ids)
    let standing = try await database.withQueue { queue in
      let counts =
        selector == JobSelector()
        ? try await Self.left(in: queue) : try await queue.affected(selector, in: JobAction.live)
      return JobsStanding(
        counts: counts, failed: counts.isEmpty ? try await Self.failed(selector, queue) : 0,
        obstacle: counts.isEmpty ? nil : try await lookFor(selector, counts, queue))
    }
    try output.print(
      [
        .init("jobs", .number(standing.total)), .init("running", .number(standing.running)),
        .init("failed", .number(standing.failed)),
        .init("obstacle", .text(standing.obstacle?.kind.rawValue)),
        .init(
          "reason",
          .text(standing.obstacle?.sentence(of: words.isEmpty ? nil : words))),
      ], orSay: standing.paragraph(of: words))
  }

  /// What is left to do in the whole pool, without a look at the jobs that have ended.
  private static func left(
    in queue: JobQueue
  ) async throws -> [(state: JobState, count: Int)] {
    let rows = try await queue.queues()
    let columns: [(JobState, (QueueRow) -> Int64)] = [
      (.interrupted, \.interrupted), (.paused, \.held), (.queued, \.queued), (.running, \.running),
      (.scheduled, \.scheduled),
    ]
    return columns.map { state, column in (state, Int(rows.reduce(0) { $0 + column($1) })) }
      .filter { $0.1 > 0 }
  }

  private static func failed(_ selector: JobSelector, _ queue: JobQueue) async throws -> Int {
    if selector == JobSelector() { return Int(try await queue.totals().failed) }
    return try await queue.affected(selector, in: [.failed]).reduce(0) { $0 + $1.count }
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
