import JobQueue
import Postgres
import Synchronization

/// Reads the pool for all clients over separate connections. It reads at most once per ``liveInterval``. It counts rows so
/// rarely that counting keeps the database busy for at most 2 % of the time.
actor PoolReader {
  /// The facts that were read, with their age.
  struct Reading: Sendable {
    /// The live facts, or nil if the database did not answer in time. `trouble` then says why.
    var live: LiveFacts?
    var trouble: String?
    /// The last known counts, even if the database does not answer now; nil before the first reading.
    var counted: CountedFacts?
    var countedAge: Duration?
    var countedSeconds: Double?
    var ended: EndedCounter
  }

  private struct Count {
    /// The counted facts, or nil if counting failed.
    let facts: CountedFacts?
    let at: ContinuousClock.Instant
    let took: Duration

    /// Whether it is time to count again.
    var isDue: Bool { at.duration(to: .now) > max(PoolReader.liveInterval, took * 50) }
    /// Whether counting is fast enough for a request to wait for it.
    var isQuick: Bool { took < .milliseconds(200) }
    /// Whether counting is fast enough to run with each live read, in the same snapshot.
    var isAlways: Bool { facts != nil && took * 50 < PoolReader.liveInterval }
  }

  static let liveInterval = Duration.milliseconds(900)
  /// The longest wait for an answer from the database.
  private static let patience = Duration.seconds(3)

  private let session: Session
  /// A separate connection, because counting may take long.
  private let counting: Session
  /// The connection for the page's searches for jobs.
  private let looking: Session
  private let lastError: LastError
  private var live: (reading: Result<LiveFacts, any Error>, at: ContinuousClock.Instant)?
  private var liveTask: Task<Result<LiveFacts, any Error>, Never>?
  /// The last count. `counted` is the last successful one. Each is nil if there is none yet.
  private var count: Count?
  private var counted: Count?
  private var countTask: Task<Void, Never>?
  private var ended = EndedCounter()

  /// Creates a reader that connects at the first read. `conninfo` is a libpq connection string.
  init(conninfo: String, schema: SchemaName = .usual) {
    // The server must not compile queries (JIT): this would take longer than the count itself (measured with 400,000 attempts).
    let configuration = ConnectionConfiguration(
      conninfo: conninfo, schema: schema, applicationName: "haul-page", queryTimeout: .seconds(60),
      needsSession: false, compiles: false)
    let lastError = LastError()
    session = Session(configuration, observe: { lastError.note($0) })
    counting = Session(configuration)
    looking = Session(
      ConnectionConfiguration(
        conninfo: conninfo, schema: schema, applicationName: "haul-page",
        queryTimeout: Self.patience,
        needsSession: false, compiles: false))
    self.lastError = lastError
  }

  func close() async {
    liveTask?.cancel()
    countTask?.cancel()
    await session.close()
    await counting.close()
    await looking.close()
  }

  /// Returns the newest jobs that match `search`, at most ``JobSearch/most``.
  ///
  /// - Throws: `PostgresError.timedOut` if the database takes longer than three seconds; `JobQueueError.noSuchName` if the
  ///   batch, queue or host does not exist.
  func jobs(_ search: JobSearch) async throws -> JobPage {
    try await look { queue in
      try await queue.find(
        search.selector, text: search.text, before: search.before, limit: JobSearch.most)
    }
  }

  /// Returns a job and its attempts, oldest first.
  ///
  /// - Throws: the errors of ``jobs(_:)``; `JobQueueError.noSuchName` if the job does not exist.
  func job(_ id: Int64) async throws -> (JobRow, [AttemptRow]) {
    var selector = JobSelector()
    selector.ids = [id]
    return try await look { [selector] queue in
      try await queue.snapshot { queue in
        guard let row = try await queue.jobs(selector, limit: 1).first else {
          throw JobQueueError.noSuchName("there is no job \(id)", hint: nil)
        }
        return (row, try await queue.attempts(of: id))
      }
    }
  }

  private func look<Found: Sendable>(
    _ body: @escaping @Sendable (JobQueue) async throws -> Found
  ) async throws -> Found {
    let looking = looking
    return try await Self.within(Self.patience + .seconds(1)) {
      try await looking.withConnection { try await body(JobQueue($0)) }
    }.get()
  }

  /// Returns the current facts.
  func read() async -> Reading {
    let live = await readLive()
    if case .success = live { await readCount() }
    var reading = Reading(
      live: try? live.get(), counted: counted?.facts, countedAge: counted?.at.duration(to: .now),
      countedSeconds: counted.map { $0.took / .seconds(1) }, ended: ended)
    if case .failure(let error) = live { reading.trouble = sentence(error) }
    return reading
  }

  private func readLive() async -> Result<LiveFacts, any Error> {
    if let live, live.at.duration(to: .now) < Self.liveInterval { return live.reading }
    if let liveTask { return await liveTask.value }
    let since = ended.since
    let countsToo = count?.isAlways == true && countTask == nil
    let task = Task { [session] in
      await Self.within(Self.patience) {
        try await session.withConnection { connection in
          try await JobQueue(connection).snapshot { queue in
            let live = try await LiveFacts(reading: queue, since: { min(since($0), $0 - 3660) })
            return (live, countsToo ? try await Self.count(queue) : nil)
          }
        }
      }
    }
    liveTask = Task { await task.value.map(\.0) }
    let result = await task.value
    liveTask = nil
    if case .success(let (facts, count)) = result {
      ended.see(facts.minutes)
      if let count { (self.count, counted) = (count, count) }
    }
    let reading = result.map(\.0)
    live = (reading, .now)
    return reading
  }

  private static func count(_ queue: JobQueue) async throws -> Count {
    let start = ContinuousClock.now
    let facts = try await CountedFacts(reading: queue)
    return Count(facts: facts, at: .now, took: start.duration(to: .now))
  }

  /// Counts rows if that is due. Waits for the result if the last count was fast or there was none.
  private func readCount() async {
    if let count, !count.isDue { return }
    let task = countTask ?? Task { await self.countRows() }
    countTask = task
    guard count?.isQuick != false else { return }
    await Self.wait(for: task, atMost: Self.patience)
  }

  private func countRows() async {
    let start = ContinuousClock.now
    let found = try? await counting.withConnection { connection in
      try await JobQueue(connection).snapshot { try await Self.count($0) }
    }
    count = found ?? Count(facts: nil, at: .now, took: start.duration(to: .now))
    if let found { counted = found }
    countTask = nil
  }

  private func sentence(_ error: any Error) -> String {
    let text = error is DatabaseTimeout ? lastError.text ?? "\(error)" : "\(error)"
    return text.prefix(1).uppercased() + text.dropFirst()
      + ([".", "?"].contains { text.hasSuffix($0) } ? "" : ".")
  }

  /// Returns when `task` has ended, or after `limit`.
  private static func wait(for task: Task<Void, Never>, atMost limit: Duration) async {
    let (stream, input) = AsyncStream.makeStream(of: Never.self)
    let timer = Task {
      try? await Task.sleep(for: limit)
      input.finish()
    }
    Task {
      await task.value
      input.finish()
    }
    for await _ in stream {}
    timer.cancel()
  }

  /// Returns the result of `body`. After `limit` it cancels `body` and returns ``DatabaseTimeout``.
  private static func within<Value: Sendable>(
    _ limit: Duration, _ body: @escaping @Sendable () async throws -> Value
  ) async -> Result<Value, any Error> {
    await withTaskGroup(of: Result<Value, any Error>.self) { group in
      group.addTask {
        do { return .success(try await body()) } catch { return .failure(error) }
      }
      group.addTask {
        try? await Task.sleep(for: limit)
        return .failure(DatabaseTimeout())
      }
      defer { group.cancelAll() }
      return await group.next() ?? .failure(DatabaseTimeout())
    }
  }
}

/// The error if the database did not answer in time.
private struct DatabaseTimeout: Error, CustomStringConvertible {
  let description = "the database does not answer"
}

/// The reason why there is no connection.
private final class LastError: Sendable {
  private let state = Mutex<String?>(nil)

  var text: String? { state.withLock { $0 } }

  func note(_ event: Session.Event) {
    state.withLock { text in
      switch event {
      case .connected: text = nil
      case .lost(let error): text = "\(error)"
      case .retrying(_, let error): text = "\(error)"
      }
    }
  }
}
