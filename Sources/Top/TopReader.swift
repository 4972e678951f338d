import Arguments
import JobModel
package import JobQueue
package import Postgres
package import Reports
import Synchronization

/// Reads the data that `haul top` shows, and continues after outages of the database.
///
/// The reader uses two sessions. One session reads the figures and the running jobs at each interval, because these queries are
/// fast on any pool. The other session reads data that may be slow. The longer a query of the other session takes, the less
/// often it runs, so that the query uses at most 5 % of the time of one database process.
package final class TopReader: Sendable {
  /// Data that the reader has read, or an error.
  package enum Reading: Sendable {
    case since(PoolContext)
    case figures(PoolFigures)
    case leader(PoolLeader?)
    case waiting(PoolWaiting)
    case workers(PoolWorkers)
    case rows(TopPane, TopPage)
    /// The result of a search for jobs.
    case jobs(TopSearch, TopPage)
    /// The report of a job; nil if the job no longer exists.
    case detail(Int64, JobReport?)
    /// The reason why the rows of a list could not be read.
    case trouble(TopPane, String)
    case lost(String)
  }

  /// The largest number of rows in a pane.
  private static let limit = 500
  /// The largest number of jobs on a page. Each job costs the database several look-ups.
  private static let jobLimit = 300
  /// The longest time to wait for an answer from the database.
  private static let patience = Duration.seconds(30)
  /// After a slow read, the next read of the same kind waits this many times as long as the read took.
  private static let rest = 19
  /// The longest wait between two slow reads of the same kind.
  private static let longestRest = Duration.seconds(30)

  private let configuration: ConnectionConfiguration
  private let part: PoolPart
  private let interval: Duration
  private let describe: @Sendable (any Error) -> String
  private let tell: @Sendable (Reading) -> Void
  private let query: Mutex<TopQuery>
  private let isChanged = Mutex(false)
  /// The running jobs from the last read. Empty while another pane is shown.
  private let running = Mutex([TransferRow]())
  /// The search of the last read of jobs, and the jobs it found.
  private let found = Mutex<(search: TopSearch?, jobs: [Int64])>((nil, []))
  private let quickWakes: WakeStream
  private let slowWakes: WakeStream

  private struct WakeStream: Sendable {
    let stream: AsyncStream<Void>
    let input: AsyncStream<Void>.Continuation

    init() {
      (stream, input) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    }
  }

  /// Creates a reader of the pool with this schema in the database `conninfo`. While the reader runs, it calls `tell` with each
  /// result. `describe` returns a sentence for an error.
  package init(
    _ conninfo: String, schema: SchemaName, of part: PoolPart, every interval: Duration,
    describe: @escaping @Sendable (any Error) -> String,
    _ tell: @escaping @Sendable (Reading) -> Void
  ) {
    configuration = ConnectionConfiguration(
      conninfo: conninfo, schema: schema, applicationName: "haul-top", queryTimeout: Self.patience,
      needsSession: false)
    self.part = part
    query = Mutex(TopQuery(pane: .running, search: TopSearch(of: part)))
    self.interval = interval
    self.describe = describe
    self.tell = tell
    quickWakes = WakeStream()
    slowWakes = WakeStream()
  }

  /// Sets the query to read at each interval, beginning with the next one.
  package func follow(_ query: TopQuery) { self.query.withLock { $0 = query } }

  /// Sets the query to read now and at each interval. If `isChanged` is true, the query is read even if it was just read,
  /// because the user waits for the effect of an action.
  package func show(_ query: TopQuery, isChanged: Bool = false) {
    follow(query)
    if isChanged { self.isChanged.withLock { $0 = true } }
    quickWakes.input.yield()
    slowWakes.input.yield()
  }

  /// Runs the reader until the task is cancelled.
  /// - Throws: if the first connection fails with an error that waiting cannot fix, such as a wrong password.
  package func run() async throws {
    let ticker = Task { [interval] in
      while !Task.isCancelled {
        quickWakes.input.yield()
        slowWakes.input.yield()
        try? await Task.sleep(for: interval)
      }
    }
    defer { ticker.cancel() }
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask { try await self.withSession(isTold: true, self.readQuick) }
      group.addTask { try await self.withSession(isTold: false, self.readSlow) }
      try await group.waitForAll()
    }
  }

  private func withSession(
    isTold: Bool, _ body: (Session) async throws -> Void
  ) async throws {
    let session = Session(
      configuration,
      observe: { [tell] event in
        guard isTold else { return }
        switch event {
        case .lost(let error): tell(.lost("\(error)"))
        case .retrying(_, let error): tell(.lost("\(error)"))
        case .connected: break
        }
      })
    do {
      try await body(session)
      await session.close()
    } catch {
      await session.close()
      throw error
    }
  }

  // MARK: Quick

  private func readQuick(_ session: Session) async throws {
    var since: PoolContext?
    for await _ in quickWakes.stream {
      let known = since
      since =
        try await attempt(session, .running) { [self] queue in
          let since = if let known { known } else { try await queue.poolSince() }
          if known == nil { tell(.since(since)) }
          tell(.figures(try await queue.poolFigures(of: part, since: since)))
          let query = query.withLock { $0 }
          if query.pane == .running && query.detail == nil {
            tell(.rows(.running, try await transfers(queue)))
          } else {
            running.withLock { $0 = [] }
          }
          return since
        } ?? since
    }
  }

  /// Reads the running jobs, and the jobs that ended since the last read.
  private func transfers(_ queue: JobQueue) async throws -> TopPage {
    let rows = try await queue.transfers(of: part, limit: Self.limit + 1)
    let jobs = Set(rows.map(\.job))
    let gone = running.withLock { $0 }.filter { !jobs.contains($0.job) }
    // The list shows only some of the ended jobs.
    let ended =
      try await gone.isEmpty ? [] : queue.listed(gone.suffix(TopList.mostLeaving).map(\.job))
    running.withLock { $0 = rows }
    let left = ended.compactMap { end -> TopRow? in
      guard end.state != .running, var row = gone.first(where: { $0.job == end.job }) else {
        return nil
      }
      row.end(end)
      return row.topRow
    }
    return Self.page(rows.map(\.topRow), left: left)
  }

  // MARK: Slow

  /// The data of one slow read.
  private enum Source: Hashable {
    case leader, waiting, workers
    case pane(TopPane)
    case jobs(TopSearch)
    case detail(Int64)

    /// Returns the minimum time between two reads.
    func pace(_ interval: Duration) -> Duration {
      switch self {
      case .leader, .waiting, .workers: max(interval, .seconds(5))
      case .pane, .jobs, .detail: interval
      }
    }

    /// Whether there are only a few sources of this kind, so that their times are always kept.
    var isLasting: Bool {
      switch self {
      case .leader, .waiting, .workers, .pane: true
      case .jobs, .detail: false
      }
    }
  }

  private func readSlow(_ session: Session) async throws {
    let clock = ContinuousClock()
    var due: [Source: ContinuousClock.Instant] = [:]
    for await _ in slowWakes.stream {
      let query = query.withLock { $0 }
      // Read the pane first, because the user waits for it.
      let shown: Source? =
        if let job = query.detail { .detail(job) } else {
          switch query.pane {
          case .running: nil
          case .jobs: .jobs(query.search)
          default: .pane(query.pane)
          }
        }
      // The times of earlier searches and details need not be kept. A person takes a while to return to them.
      due = due.filter { $0.key.isLasting || $0.key == shown }
      let isChanged = isChanged.withLock { isChanged in
        defer { isChanged = false }
        return isChanged
      }
      for source in (shown.map { [$0] } ?? []) + [.leader, .waiting, .workers] {
        let asked = clock.now
        if let wait = due[source], asked < wait, !isChanged || source != shown { continue }
        let begun = try await attempt(session, query.pane) { queue in
          // The wait for a connection does not count as work of the database.
          let start = clock.now
          try await self.read(source, from: queue)
          return start
        }
        // A failed read may have lasted until its timeout, so it is not repeated immediately either.
        let start = begun ?? asked
        let rest = min(start.duration(to: clock.now) * Self.rest, Self.longestRest)
        // A tick that comes slightly early still counts.
        due[source] = start + max(source.pace(interval) - .milliseconds(50), rest)
      }
    }
  }

  private func read(_ source: Source, from queue: JobQueue) async throws {
    switch source {
    case .leader: tell(.leader(try await queue.poolLeader()))
    case .waiting: tell(.waiting(try await queue.waiting(in: part)))
    case .workers:
      tell(.workers(PoolWorkers(of: try await queue.workers(includingGone: false))))
    case .pane(let pane): tell(.rows(pane, Self.page(try await rows(of: pane, from: queue))))
    case .jobs(let search): tell(.jobs(search, try await jobs(search, from: queue)))
    case .detail(let job):
      do {
        tell(.detail(job, try await JobReport.read(job, from: queue)))
      } catch JobQueueError.noSuchName {
        tell(.detail(job, nil))
      }
    }
  }

  private func rows(of pane: TopPane, from queue: JobQueue) async throws -> [TopRow] {
    let most = Self.limit + 1
    switch pane {
    // These panes are read by separate functions.
    case .running, .jobs: return []
    case .queues:
      // The jobs of a batch may be in any queue.
      let rows = try await queue.queues().filter { row in
        if case .queue(let name) = part { row.queue == name } else { true }
      }
      return rows.map(\.topRow)
    case .hosts: return try await queue.hosts(limit: most).map(\.topRow)
    case .workers: return try await queue.workers(includingGone: false).map(\.topRow)
    case .batches:
      let names = if case .batch(let name) = part { [name] } else { [String]() }
      return try await queue.batches(names, limit: most).map(\.topRow)
    case .failures: return try await queue.failures(limit: most).map(\.topRow)
    }
  }

  private static func page(_ rows: [TopRow], left: [TopRow] = []) -> TopPage {
    TopPage(Array(rows.prefix(limit)), left: left, isCut: rows.count > limit)
  }

  /// Reads a page of jobs, and the new state of jobs that were on the last page but are no longer on it.
  private func jobs(_ search: TopSearch, from queue: JobQueue) async throws -> TopPage {
    let before = found.withLock { $0.search == search ? $0.jobs : [] }
    let selected = query.withLock { $0.search == search ? $0.selected : nil }
    let page = try await queue.find(
      search.selector, text: search.text, before: search.before, limit: Self.jobLimit,
      and: before + (selected.map { [$0] } ?? []))
    found.withLock { $0 = (search, page.rows.map(\.job)) }
    let left = page.others.filter { before.contains($0.job) && !search.admits($0) }
    // The job under the cursor stays even when newer jobs fill the page.
    let kept = page.older.map { older in
      page.others.filter { $0.job == selected && $0.job < older && search.admits($0) }
    }
    return TopPage(
      (page.rows + (kept ?? [])).map(\.topRow), left: left.map(\.topRow),
      isCut: page.older != nil, older: page.older)
  }

  /// Returns the answer of `body`, or nil after an error. After a lost connection, the session reconnects by itself. Other
  /// errors are shown in `pane`.
  @discardableResult
  private func attempt<Answer: Sendable>(
    _ session: Session, _ pane: TopPane,
    _ body: @escaping @Sendable (JobQueue) async throws -> Answer
  ) async throws -> Answer? {
    do {
      return try await session.withConnection { try await body(JobQueue($0)) }
    } catch PostgresError.timedOut {
      tell(.trouble(pane, "the database did not answer within \(Self.patience.argument)"))
    } catch let error as PostgresError where error.isTransient {
      return nil
    } catch let error as JobQueueError {
      tell(.trouble(pane, describe(error)))
    } catch let error as PostgresError where error.sqlState != nil {
      if case .connecting = error { throw error }
      tell(.trouble(pane, describe(error)))
    }
    return nil
  }
}
