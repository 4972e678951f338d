import Arguments
package import JobQueue
import Postgres
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
    case rows(TopPane, [TopRow], isCut: Bool)
    /// Why a pane could not be read.
    case trouble(TopPane, String)
    case lost(String)
  }

  /// Most rows of a pane.
  private static let limit = 500
  /// Longer than this nothing is waited for.
  private static let patience = Duration.seconds(30)
  /// For so many times as long as a read took there is none of its kind.
  private static let rest = 19
  /// But not for longer than this.
  private static let longestRest = Duration.seconds(30)

  private let configuration: ConnectionConfiguration
  private let part: PoolPart
  private let interval: Duration
  private let describe: @Sendable (any Error) -> String
  private let tell: @Sendable (Reading) -> Void
  private let pane = Mutex(TopPane.running)
  private let quickWakes: WakeStream
  private let slowWakes: WakeStream

  private struct WakeStream: Sendable {
    let stream: AsyncStream<Void>
    let input: AsyncStream<Void>.Continuation

    init() {
      (stream, input) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    }
  }

  /// Tells `tell` of what it finds in the database of `conninfo`, once it runs. `describe` gives the sentence for an error
  /// of somebody who may only look.
  package init(
    _ conninfo: String, of part: PoolPart, every interval: Duration,
    describe: @escaping @Sendable (any Error) -> String,
    _ tell: @escaping @Sendable (Reading) -> Void
  ) {
    configuration = ConnectionConfiguration(
      conninfo: conninfo, applicationName: "haul-top", queryTimeout: Self.patience,
      needsSession: false)
    self.part = part
    self.interval = interval
    self.describe = describe
    self.tell = tell
    quickWakes = WakeStream()
    slowWakes = WakeStream()
  }

  /// Which pane is to be read from now on; at once, and then every interval.
  package func show(_ pane: TopPane) {
    self.pane.withLock { $0 = pane }
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
          if pane.withLock({ $0 }) == .running {
            let rows = try await queue.transfers(of: part, limit: Self.limit + 1)
            tell(Self.rows(.running, rows.map(\.topRow)))
          }
          return since
        } ?? since
    }
  }

  // MARK: Slow

  /// What is read now and then.
  private enum Source: Hashable {
    case leader, waiting
    case pane(TopPane)

    /// Between two reads at least.
    func pace(_ interval: Duration) -> Duration {
      switch self {
      case .leader, .waiting: max(interval, .seconds(5))
      case .pane: interval
      }
    }
  }

  private func readSlow(_ session: Session) async throws {
    let clock = ContinuousClock()
    var due: [Source: ContinuousClock.Instant] = [:]
    for await _ in slowWakes.stream {
      let pane = pane.withLock { $0 }
      // The pane first: somebody is waiting for it.
      let sources = (pane == .running ? [] : [Source.pane(pane)]) + [.leader, .waiting]
      for source in sources {
        let asked = clock.now
        if let wait = due[source], asked < wait { continue }
        let begun = try await attempt(session, pane) { queue in
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
    case .pane(let pane): tell(try await rows(of: pane, from: queue))
    }
  }

  private func rows(of pane: TopPane, from queue: JobQueue) async throws -> Reading {
    let most = Self.limit + 1
    switch pane {
    case .running:
      return Self.rows(pane, try await queue.transfers(of: part, limit: most).map(\.topRow))
    case .queues:
      let rows = try await queue.queues().filter { part == .all || part == .queue($0.queue) }
      return Self.rows(pane, rows.map(\.topRow))
    case .hosts: return Self.rows(pane, try await queue.hosts(limit: most).map(\.topRow))
    case .workers:
      return Self.rows(pane, try await queue.workers(includingGone: false).map(\.topRow))
    case .batches:
      let names = if case .batch(let name) = part { [name] } else { [String]() }
      return Self.rows(pane, try await queue.batches(names, limit: most).map(\.topRow))
    case .failures: return Self.rows(pane, try await queue.failures(limit: most).map(\.topRow))
    }
  }

  private static func rows(_ pane: TopPane, _ rows: [TopRow]) -> Reading {
    .rows(pane, Array(rows.prefix(limit)), isCut: rows.count > limit)
  }

  /// nil where it failed: a lost connection is made again by the session, and what else goes wrong is told of `pane`.
  @discardableResult
  private func attempt<Answer: Sendable>(
    _ session: Session, _ pane: TopPane,
    _ body: @escaping @Sendable (JobQueue) async throws -> Answer
  ) async throws -> Answer? {
    do {
      return try await session.withConnection { try await body(JobQueue($0)) }
    } catch PostgresError.timedOut {
      tell(.trouble(pane, "the database takes longer than \(Self.patience.argument) to say this"))
    } catch let error as PostgresError where error.isTransient {
      return nil
    } catch let error as PostgresError where error.sqlState != nil {
      if case .connecting = error { throw error }
      tell(.trouble(pane, describe(error)))
    }
    return nil
  }
}
