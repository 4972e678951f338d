import Arguments
import HaulSystem
import JobModel
import JobQueue
import Reports
import Terminal

struct WhyCommand: HaulCommand {
  static let name = "why"
  static let abstract = "Explain why jobs do not start, and show what to type."
  static let discussion = """
    Haul looks at the jobs that have not ended. If you select none, it looks at all jobs of the pool. It \
    prints one line for each cause: how many jobs it affects, and what to type. Causes that a person must \
    repair come first. A job can have several causes. If there are no jobs, Haul names the pool.

    The counts include all jobs that are ready to start, but at most 1,000 paused and scheduled jobs. If you \
    give ids, a batch, a state or an error class, Haul reads at most 1,000 waiting jobs. A note then says \
    which counts may be too low.

    The column IDLE of 'haul hosts' shows a cause as one word:

      The host HOST is blocked                        blocked
      The host HOST already has 4 of 4 transfers ...  full, adaptive, unanswered
      The minimum time between two starts ...         interval
      No worker serves the queue QUEUE                unserved
      Worker 7 cannot write to its store              unserved
      The queue QUEUE is paused                       paused
      The batch BATCH is paused, or jobs are paused   held
      The start time has not come                     empty
      The last attempt failed. The next attempt is ... empty

    IDLE does not show causes that do not concern a host: the workers are busy, a queue has reached its limit, \
    or a worker died. 'haul failures --host HOST' lists the failed jobs of a host.
    """
  static let examples = [
    Example("haul why", "Shows why no more jobs start in this pool."),
    Example("haul why --batch films", "Shows why the batch films does not start."),
    Example("haul why --host example.org", "Shows why no more jobs of example.org start."),
    Example("haul why 17", "Shows why job 17 does not start."),
  ]
  static let options: [Option<Self>] = group(\.selectors) + group(\.output) + group(\.database)
  static let operands: [Operand<Self>] = [
    .repeated("id", \.ids, isRequired: false, "Ids of jobs.")
  ]

  var ids: [Int64] = []
  var selectors = SelectorOptions()
  var output = OutputOptions()
  var database = DatabaseOptions()

  func perform() async throws {
    let selector = selectors.selector(ids: ids)
    let standing = try await database.withQueue { queue in
      let counts = try await queue.liveJobs(of: selector)
      if counts.isEmpty {
        let (ended, kept) = try await Self.ended(selector, queue)
        return JobsStanding(counts: [], ended: ended, kept: kept)
      }
      return try await lookFor(selector, counts, queue)
    }
    var text = standing.text(of: words, in: ConnectedPool.name)
    var reason = standing.causes.first?.finding.sentence
    if standing.total == 0, standing.over == 0, let batch = try await emptyBatch(selector) {
      text =
        "The batch \(SafeText.visible(batch)) has \(BatchRow.noJobs): \(BatchRow.whereJobsAre). List batches with: haul batches"
      reason = text
    }
    try output.print(
      [
        .init("jobs", .number(standing.total)), .init("running", .number(standing.running)),
        .init("failed", .number(standing.failed)),
        .init("obstacle", .text(standing.causes.first?.kind.rawValue)),
        .init("reason", .text(reason)),
        .init("causes", .array(standing.causes.map { .object($0.members) })),
      ], orSay: text)
  }

  /// Returns the batch that the user asks about if it has no jobs; otherwise nil.
  private func emptyBatch(_ selector: JobSelector) async throws -> String? {
    guard let batch = selector.batch else { return nil }
    let rows = try await database.withQueue { try await $0.batches([batch], limit: 1) }
    return rows.first?.jobs == 0 ? batch : nil
  }

  /// The maximum number of ended jobs that are counted one by one, which takes about 3 ms for each 1,000 (2 cores, 2026-12-01).
  private static let mostCounted: Int64 = 10_000

  private typealias Counts = [(state: JobState, count: Int)]

  /// Returns how many of these jobs have ended in each state. For the whole pool or a batch, the database keeps these totals up
  /// to date. They include removed jobs, so `kept` has the numbers of failed and cancelled jobs that are left. `kept` is nil for
  /// other selections, and if more than ``mostCounted`` jobs failed or were cancelled.
  private static func ended(
    _ selector: JobSelector, _ queue: JobQueue
  ) async throws -> (ended: Counts, kept: Counts?) {
    func counts(_ completed: Int64, _ failed: Int64, _ cancelled: Int64) async throws -> (
      Counts, Counts?
    ) {
      let ended: Counts = [
        (.completed, Int(completed)), (.failed, Int(failed)), (.cancelled, Int(cancelled)),
      ]
      guard 1...mostCounted ~= failed + cancelled else { return (ended, nil) }
      return (ended, try await queue.affected(selector, in: [.failed, .cancelled]))
    }
    if selector == JobSelector() {
      let totals = try await queue.totals()
      return try await counts(totals.completed, totals.failed, totals.cancelled)
    }
    var whole = JobSelector()
    whole.batch = selector.batch
    if let batch = selector.batch, selector == whole,
      let row = try await queue.batches([batch], limit: 1).first
    {
      return try await counts(row.completed, row.failed, row.cancelled)
    }
    return (try await queue.affected(selector, in: [.completed, .failed, .cancelled]), nil)
  }

  /// Finds the obstacles of waiting jobs.
  private func lookFor(
    _ selector: JobSelector, _ counts: [(state: JobState, count: Int)], _ queue: JobQueue
  ) async throws -> JobsStanding {
    let (found, isWhole) = try await queue.causes(of: selector, counts: counts)
    var asked = AskedJobs(selector, words: words)
    if found.causes.contains(where: { $0.kind == .full || $0.kind == .limited }) {
      for (host, queue, jobs) in try await queue.runningByPlace(selector) {
        asked.runningOnHost[host, default: 0] += jobs
        asked.runningInQueue[queue, default: 0] += jobs
      }
    }
    let paused = found.causes.filter { $0.kind == .held && !$0.name.isEmpty }.map(\.name)
    if !paused.isEmpty, selector.queue == nil, selector.host == nil {
      let rows = try await queue.batches(paused, limit: paused.count)
      asked.partlyPaused = Set(rows.filter { !$0.isHeld }.map(\.batch))
    }
    let isCounted = selector.batch == nil && selector.ids == nil
    let note =
      "\(isCounted ? "The counts of paused and scheduled jobs (with --state or --error, all counts)" : "All counts") cover only the first 1,000 jobs, because Haul does not read more jobs."
    return JobsStanding(
      counts: counts, causes: asked.causes(found.causes), free: found.free, more: found.more,
      note: isWhole ? nil : note)
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
