import Arguments
import JobModel
package import JobQueue
import Postgres
package import Reports
import Synchronization

/// Reads what `haul top` shows, through outages of the database too.
///
/// Two sessions: one for what is quick on any pool and comes every interval (figures, and what runs), one for what may take long
/// and comes the more seldom the longer it takes, so that looking costs the database a twentieth of one process at most.
package final class TopReader: Sendable {
  /// What is found.
  package enum Reading: Sendable {
    case since(PoolContext)
    case figures(PoolFigures)
    case leader(PoolLeader?)
    case waiting(PoolWaiting)
    case workers(PoolWorkers)
    case rows(TopPane, TopPage)
    /// What a search for jobs has found.
    case jobs(TopSearch, TopPage)
    /// All of a job; nil for one that is gone.
    case detail(Int64, JobReport?)
    /// Why a pane could not be read.
    case trouble(TopPane, String)
    case lost(String)
  }

  /// Most rows of a pane.
  private static let limit = 500
  /// Most rows of a page of jobs: each costs the database several look-ups.
  private static let jobLimit = 300
  /// Longer than this nothing is waited for.
  private static let patience = Duration.seconds(30)
  /// After a read, the next one of its kind waits this many times as long as that read took.
  private static let rest = 19
  /// It never waits longer than this.
  private static let longestRest = Duration.seconds(30)

  private let configuration: ConnectionConfiguration
  private let part: PoolPart
  private let interval: Duration
  private let describe: @Sendable (any Error) -> String
  private let tell: @Sendable (Reading) -> Void
  private let query: Mutex<TopQuery>
  private let isChanged = Mutex(false)
  /// The running jobs that were read last; empty while another pane is shown.
  private let running = Mutex([TransferRow]())
  /// The jobs that were read last, and for which search.
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

  /// Calls `tell` with what it finds in the database of `conninfo`, once it runs. `describe` gives the sentence for an error
  /// of a reader.
  package init(
    _ conninfo: String, of part: PoolPart, every interval: Duration,
    describe: @escaping @Sendable (any Error) -> String,
    _ tell: @escaping @Sendable (Reading) -> Void
  ) {
    configuration = ConnectionConfiguration(
      conninfo: conninfo, applicationName: "haul-top", queryTimeout: Self.patience,
      needsSession: false)
    self.part = part
    query = Mutex(TopQuery(pane: .running, search: TopSearch(of: part)))
    self.interval = interval
    self.describe = describe
    self.tell = tell
    quickWakes = WakeStream()
    slowWakes = WakeStream()
  }

  /// What is to be read from now on, at the next interval.
  package func follow(_ query: TopQuery) { self.query.withLock { $0 = query } }

  /// What is to be read from now on; at once, and then every interval. `isChanged`: even if it was read a moment ago, since
  /// the user waits to see what a key has done to it.
  package func show(_ query: TopQuery, isChanged: Bool = false) {
    follow(query)
    if isChanged { self.isChanged.withLock { $0 = true } }
    quickWakes.input.yield()
    slowWakes.input.yield()
  }

  /// Reads until the task is cancelled.
  /// - Throws: what no waiting mends before the first connection: a wrong password and such.
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

  /// What runs, and what ran at the last look and has ended since.
  private func transfers(_ queue: JobQueue) async throws -> TopPage {
    let rows = try await queue.transfers(of: part, limit: Self.limit + 1)
    let jobs = Set(rows.map(\.job))
    let gone = running.withLock { $0 }.filter { !jobs.contains($0.job) }
    // The list shows a few of them.
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

  /// What is read now and then.
  private enum Source: Hashable {
    case leader, waiting, workers
    case pane(TopPane)
    case jobs(TopSearch)
    case detail(Int64)

    /// Between two reads at least.
    func pace(_ interval: Duration) -> Duration {
      switch self {
      case .leader, .waiting, .workers: max(interval, .seconds(5))
      case .pane, .jobs, .detail: interval
      }
    }

    /// Whether there are only a few of its kind.
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
      // The pane first: somebody is waiting for it.
      let shown: Source? =
        if let job = query.detail { .detail(job) } else {
          switch query.pane {
          case .running: nil
          case .jobs: .jobs(query.search)
          default: .pane(query.pane)
          }
        }
      // Searches and jobs of before need not be remembered: a person comes back slowly.
      due = due.filter { $0.key.isLasting || $0.key == shown }
      let isChanged = isChanged.withLock { isChanged in
        defer { isChanged = false }
        return isChanged
      }
      for source in (shown.map { [$0] } ?? []) + [.leader, .waiting, .workers] {
        let asked = clock.now
        if let wait = due[source], asked < wait, !isChanged || source != shown { continue }
        let begun = try await attempt(session, query.pane) { queue in
          // What was waited for a connection is no work of the database.
          let start = clock.now
          try await self.read(source, from: queue)
          return start
        }
        // What fails, after its whole time perhaps, is not asked again at once either.
        let start = begun ?? asked
        let rest = min(start.duration(to: clock.now) * Self.rest, Self.longestRest)
        // A tick early counts as in time.
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
    // These have reads of their own.
    case .running, .jobs: return []
    case .queues:
      let rows = try await queue.queues().filter { part == .all || part == .queue($0.queue) }
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

  /// A page of jobs, and what has become of those of the last look that are no longer on it.
  private func jobs(_ search: TopSearch, from queue: JobQueue) async throws -> TopPage {
    let before = found.withLock { $0.search == search ? $0.jobs : [] }
    let selected = query.withLock { $0.search == search ? $0.selected : nil }
    let page = try await queue.find(
      search.selector, text: search.text, before: search.before, limit: Self.jobLimit,
      and: before + (selected.map { [$0] } ?? []))
    found.withLock { $0 = (search, page.rows.map(\.job)) }
    let left = page.others.filter { before.contains($0.job) && !search.admits($0) }
    // The one that the cursor is on stays when newer ones fill the page.
    let kept = page.older.map { older in
      page.others.filter { $0.job == selected && $0.job < older && search.admits($0) }
    }
    return TopPage(
      (page.rows + (kept ?? [])).map(\.topRow), left: left.map(\.topRow),
      isCut: page.older != nil, older: page.older)
  }

  /// nil if it failed: the session reconnects by itself, and any other error is shown in `pane`.
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
