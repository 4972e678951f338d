import HaulSystem
package import JobQueue
package import Postgres
import Synchronization
package import Terminal

/// Waits until jobs have ended, even if the database is down for some time, and shows their progress.
///
/// Each query reads counts that the database maintains, and the running jobs, so a batch of a million jobs costs as much as a
/// batch of ten. The pool's maintenance sends a notification when a batch has ended. If this notification is lost, the next
/// query shows that the batch has ended.
package struct BatchWait {
  package let jobs: AwaitedJobs
  /// The command as the user typed it. Messages of the command start with this text.
  package let label: String
  package let database: ConnectionConfiguration
  /// Prints a result: the JSON object for programs, or the sentence for people.
  package let print: @Sendable ([JSONValue.Member], String) throws -> Void
  package let display: ProgressDisplay
  /// Whether the command fails if jobs failed.
  package var isJudge = true

  package init(
    jobs: AwaitedJobs, label: String, database: ConnectionConfiguration, display: ProgressDisplay,
    isJudge: Bool = true,
    print: @escaping @Sendable ([JSONValue.Member], String) throws -> Void
  ) {
    self.jobs = jobs
    self.label = label
    self.database = database
    self.display = display
    self.isJudge = isJudge
    self.print = print
  }

  /// The time between two queries. Workers report progress at the same interval.
  private static let interval = Duration.seconds(2)
  /// The time between two updates of the terminal.
  private static let repaint = Duration.milliseconds(500)

  /// Waits until all jobs have ended, then prints the report.
  /// - Throws: `ExitError` with code 1 if jobs failed or were cancelled and ``isJudge`` is true.
  package func run() async throws {
    sayAtInterruption()
    let session = Session(
      database,
      onConnect: { if !$0.isShared, !$0.isStandby { try await $0.listen($0.schema.name) } },
      observe: { [display, label] event in
        guard case .lost = event else { return }
        display.say(
          "\(label): lost the connection to the database; trying to connect again")
      })
    do {
      try await wait(session)
      let report = try await report(session)
      await session.close()
      display.finish()
      try report.tell(label: label, selector: selector, print: print, display, isJudge: isJudge)
    } catch {
      await session.close()
      display.finish()
      throw error
    }
  }

  private func sayAtInterruption() {
    StopSignals.beforeEnding { [display, label, jobs, isJudge] in
      let (word, command) =
        isJudge
        ? ("waiting", "Wait again with: haul batch wait")
        : ("watching", "Watch again with: haul watch")
      let again =
        jobs.others.isEmpty
        ? "\(command) \(jobs.batches.map(shellWord).joined(separator: " "))"
        : "Run the same command to wait again."
      display.finish()
      display.say("\(label): stopped \(word). The jobs continue. \(again)", as: .error)
    }
  }

  /// The shared progress: the task that reads the jobs writes it, and the display reads it.
  private final class Board: Sendable {
    let progress = Mutex(BatchProgress())

    var tally: Tally { progress.withLock { $0.tally } }
    var isIdle: Bool { progress.withLock { $0.isIdle(at: .now) } }
    var frame: ProgressFrame { progress.withLock { $0.frame(at: .now) } }
  }

  /// Waits for the end of the jobs. Updates the display even while a lost connection prevents reading.
  private func wait(_ session: Session) async throws {
    let board = Board()
    let painter = Task {
      while !Task.isCancelled {
        if board.progress.withLock({ $0.isSeen }) { display.show(board.frame) }
        try? await Task.sleep(for: Self.repaint)
      }
    }
    defer { painter.cancel() }
    try await follow(session, board)
    display.show(board.frame)
  }

  private func follow(_ session: Session, _ board: Board) async throws {
    let clock = ContinuousClock()
    var hints = ObstacleThrottle()
    var lookAt = clock.now
    for await _ in looks(session) where clock.now >= lookAt {
      let look = try await read(session) { queue in
        (try await queue.counts(of: jobs), try await queue.running(of: jobs))
      }
      guard let look else { continue }
      board.progress.withLock {
        $0.count(look.answer.0)
        $0.look(look.answer.1, at: clock.now)
      }
      // After a query, wait nine times as long as it took, so that queries keep the database busy for at most 10 % of the time.
      // Queries for jobs of other batches and for obstacles may be slow.
      lookAt = clock.now + look.took * 9
      display.show(board.frame)
      if board.tally.pending == 0 { return }
      guard board.isIdle else { continue }
      let found = try await read(session) { try await $0.obstacle(to: jobs) }
      guard let found, let obstacle = found.answer else { continue }
      lookAt += found.took * 9
      let reason = board.tally.reasonToStandStill(selector: selector, obstacle: obstacle)
      if let reason, hints.isNews(obstacle, at: clock.now) {
        display.say("\(label): \(reason)")
      }
    }
  }

  /// Returns a stream that yields when it is time to read the jobs: immediately, after each ``interval``, and after each
  /// notification that one of the batches may have ended.
  private func looks(_ session: Session) -> AsyncStream<Void> {
    let (looks, input) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
    let ticker = Task {
      while !Task.isCancelled {
        input.yield()
        try? await Task.sleep(for: Self.interval)
      }
    }
    let listener = Task { [jobs] in
      for await message in session.notifications {
        switch message {
        case .notification(let word) where !jobs.mayHaveEnded(by: word.payload): break
        default: input.yield()
        }
      }
    }
    input.onTermination = { _ in
      ticker.cancel()
      listener.cancel()
    }
    return looks
  }

  /// The arguments that select these jobs for another command; nil if no selector can name all of them.
  private var selector: String? {
    guard jobs.others.isEmpty, jobs.batches.count == 1 else { return nil }
    return "--batch \(shellWord(jobs.batches[0]))"
  }

  private func report(_ session: Session) async throws -> BatchReport {
    while true {
      if let report = try await read(session, { try await BatchReport(of: jobs, from: $0) }) {
        return report.answer
      }
    }
  }

  /// Returns the answer of `body`, and how long `body` took, without the wait for a connection. Returns nil if the connection
  /// was lost meanwhile: the session then makes a new one.
  private func read<Answer: Sendable>(
    _ session: Session, _ body: @Sendable (JobQueue) async throws -> Answer
  ) async throws -> (answer: Answer, took: Duration)? {
    do {
      return try await session.withConnection { connection in
        let start = ContinuousClock.now
        return (try await body(JobQueue(connection)), start.duration(to: .now))
      }
    } catch let error as PostgresError where error.isTransient {
      return nil
    }
  }
}
