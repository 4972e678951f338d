import Arguments
import FoundationEssentials
import JobQueue
import Terminal
import Top

struct TopCommand: HaulCommand {
  static let name = "top"
  static let abstract = "Watch and steer the pool in a full-screen view."
  static let discussion = """
    Haul shows running jobs, queues, hosts, workers, batches, failures and all jobs, and updates the lists \
    every second. The first line names the pool. Haul also shows why no more transfers start from a host. With \
    keys, you pause, resume, cancel, retry and drain the selected row. Haul asks before it cancels jobs or \
    drains a worker. Press ? to list all keys and q to quit. If the database does not permit an action, Haul \
    says so and changes nothing.

    Enter opens a job, or the jobs of a batch, queue, host or failure. In the list of jobs, / searches for a \
    text in paths and URLs. f shows only jobs of one state. Press f again to choose the next state. b and o \
    show only jobs of the same batch or host as the selected job. Press the key again to remove this limit. v \
    compares a finished file with its recorded length and digest. + and - change the priority, and > shows \
    older jobs.

    With --queue or --batch, Haul shows only the running jobs, queues, batches, jobs and figures of that \
    queue or batch. Hosts, workers and failures are those of the whole pool. If the command is killed with \
    SIGKILL, run 'reset' to restore the terminal.
    """
  static let examples = [
    Example("haul top", "Shows the whole pool."),
    Example(
      "haul top --batch films --interval 5s", "Shows one batch, and updates it every 5 seconds."),
  ]
  static let options: [Option<Self>] =
    [
      .value(
        "interval", "<duration>", \.interval, in: .milliseconds(200) ... .seconds(3600),
        "The time between two updates of the lists."),
      .value("queue", "<name>", \.queue, "Show only this queue.").from(.names("queue")),
      .value("batch", "<name>", \.batch, "Show only this batch.").from(.names("batch")),
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
        "this command needs a terminal. Use 'haul jobs --state running' to list running jobs, or 'haul watch' to follow a batch."
      )
    }
    try await database.withQueue { queue in
      if let selector = part.selector { try await queue.requireNames(selector) }
    }
    try await TopScreen(
      part, every: interval, conninfo: database.conninfo, schema: database.schema,
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
        throw ExitError(.usage, "you cannot use --queue and --batch together.")
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
