import Arguments
import FoundationEssentials
import JobQueue
import Terminal
import Top

struct TopCommand: HaulCommand {
  static let name = "top"
  static let abstract = "Watch and steer the pool on a full screen."
  static let discussion = """
    What runs, queues, hosts with the reason why each starts nothing, workers, batches, failures and jobs, as they change. Keys pause, \
    resume, cancel, retry and drain what the cursor is on, and ask before anything is lost; ? shows all of them, q quits. What the \
    database does not permit is said, and harms nothing.

    Enter opens a job, or the jobs of a batch, queue, host or failure. In the list of jobs / finds a text in paths and URLs, f shows \
    only jobs of a state, b and o only those of the row's batch or host, v compares a finished file with its recorded length and digest, + and - change a job's priority, and > goes to older jobs.

    With --queue or --batch the figures, what runs, queues, batches and jobs are narrowed; hosts, workers and failures are the pool's. \
    Should it ever be killed without a chance to tidy up (SIGKILL), 'reset' mends the terminal.
    """
  static let examples = [
    Example("haul top", "The whole pool."),
    Example("haul top --batch films --interval 5s", "One batch, on a slow line."),
  ]
  static let options: [Option<Self>] =
    [
      .value(
        "interval", "<duration>", \.interval, in: .milliseconds(200) ... .seconds(3600),
        "Between two looks at the pool."),
      .value("queue", "<name>", \.queue, "Only this queue.").from(.names("queue")),
      .value("batch", "<name>", \.batch, "Only this batch.").from(.names("batch")),
    ] + group(\.database)

  var interval = Duration.seconds(1)
  var queue: String?
  var batch: String?
  var database = DatabaseOptions()

  func perform() async throws {
    let part = try part
    guard RawTerminal.isThere(environment: ProcessInfo.processInfo.environment) else {
      throw ExitError(
        .usage,
        "this needs a terminal; elsewhere 'haul jobs --state running' lists what runs, and 'haul watch' follows a batch."
      )
    }
    try await database.withQueue { queue in
      if let selector = part.selector { try await queue.requireNames(selector) }
    }
    try await TopScreen(
      part, every: interval, conninfo: database.conninfo,
      withQueue: { [database] in try await database.withQueue($0) },
      verify: { try await VerifyRun.verify(job: $1, in: $0) },
      describe: { ExitError(from: $0, role: $1).message ?? "it failed" }
    ).run()
  }

  private var part: PoolPart {
    get throws(ExitError) {
      switch (queue, batch) {
      case (nil, nil): .all
      case (let queue?, nil): .queue(queue)
      case (nil, let batch?): .batch(batch)
      case (_?, _?):
        throw ExitError(.usage, "either --queue or --batch can be given, not both.")
      }
    }
  }
}

extension PoolPart {
  fileprivate var selector: JobSelector? {
    var selector = JobSelector()
    switch self {
    case .all: return nil
    case .queue(let name): selector.queue = name
    case .batch(let name): selector.batch = name
    }
    return selector
  }
}
