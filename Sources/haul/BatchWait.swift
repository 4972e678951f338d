import Arguments
import JobQueue
import Log
import Postgres
import Synchronization
import Terminal

/// Waits until jobs have ended, through outages of the database too, and shows how far they are.
struct BatchWait {
  let jobs: AwaitedJobs
  /// The command as typed, which begins its messages.
  let label: String
  let database: DatabaseOptions
  let output: OutputOptions
  let display: ProgressDisplay

  /// Between two looks.
  private static let interval = Duration.milliseconds(500)

  /// - Throws: `ExitError` with code 1 if jobs failed or were cancelled.
  func run() async throws {
    StopSignals.beforeEnding { [display, label, jobs] in
      let again =
        jobs.others.isEmpty
        ? "Wait again with: haul batch wait \(shellWord(jobs.batch))"
        : "The same command waits for them again."
      display.finish()
      display.say("\(label): no longer waiting; the jobs go on. \(again)", as: .error)
    }
    let session = Session(
      database.configuration,
      observe: { [display, label] event in
        guard case .lost = event else { return }
        display.say(
          "\(label): the connection to the database was lost; waiting for it to come back")
      })
    do {
      let tally = try await lastTally(session)
      let examples =
        tally.failed > 0
        ? try await read(session) { try await $0.failureExamples(of: jobs) } : []
      await session.close()
      display.finish()
      try conclude(tally, examples ?? [])
    } catch {
      await session.close()
      display.finish()
      throw error
    }
  }

  /// What is known of the jobs, for whoever looks at them and whoever shows it.
  private final class Board: Sendable {
    let progress = Mutex(BatchProgress())

    var tally: Tally { progress.withLock { $0.tally } }
    var isIdle: Bool { progress.withLock { $0.isIdle(at: .now) } }
    var frame: ProgressFrame { progress.withLock { $0.frame(at: .now) } }
  }

  /// Shows it also while a lost connection keeps everybody from looking.
  private func lastTally(_ session: Session) async throws -> Tally {
    let board = Board()
    let painter = Task {
      while !Task.isCancelled {
        if board.progress.withLock({ $0.isSeen }) { display.show(board.frame) }
        try? await Task.sleep(for: Self.interval)
      }
    }
    defer { painter.cancel() }
    let tally = try await follow(session, board)
    display.show(board.frame)
    return tally
  }

  private func follow(_ session: Session, _ board: Board) async throws -> Tally {
    let clock = ContinuousClock()
    var hints = StandstillHints()
    var countAt = clock.now
    while true {
      let start = clock.now
      if start >= countAt {
        if let counts = try await read(session, { try await $0.counts(of: jobs) }) {
          board.progress.withLock { $0.count(counts) }
          if board.tally.pending == 0 {
            board.progress.withLock { $0.look([], at: clock.now) }
            return board.tally
          }
        }
        if board.isIdle {
          let obstacle = try await read(session) { try await $0.obstacle(to: jobs) } ?? nil
          let reason = board.tally.reasonToStandStill(selector: selector, obstacle: obstacle)
          if let reason, hints.isNews(obstacle, at: clock.now) {
            display.say("\(label): \(reason)")
          }
        }
        // A batch of millions takes a while to count, and that must not keep the database busy.
        countAt = clock.now + start.duration(to: .now) * 9
      }
      if let running = try await read(session, { try await $0.running(of: jobs) }) {
        board.progress.withLock { $0.look(running, at: clock.now) }
        display.show(board.frame)
      }
      try await clock.sleep(for: Self.interval)
    }
  }

  /// The jobs as another command takes them; nil where none can name all of them.
  private var selector: String? {
    jobs.others.isEmpty ? "--batch \(shellWord(jobs.batch))" : nil
  }

  /// nil when the connection was lost meanwhile: the session makes a new one.
  private func read<Answer: Sendable>(
    _ session: Session, _ body: @Sendable (JobQueue) async throws -> Answer
  ) async throws -> Answer? {
    do {
      return try await session.withConnection { try await body(JobQueue($0)) }
    } catch let error as PostgresError where error.isTransient {
      return nil
    }
  }

  private func conclude(_ tally: Tally, _ examples: [FailureExample]) throws {
    try output.print(
      [
        .init("batch", .string(jobs.batch)), .init("completed", .number(tally.completed)),
        .init("failed", .number(tally.failed)), .init("cancelled", .number(tally.cancelled)),
        .init("bytes", .number(tally.bytes)),
        .init("errors", .object(tally.errors.map { .init($0.name, .number($0.jobs)) })),
      ],
      orSay: "completed \(counted(tally.completed, "job")), \(HumanFormat.bytes(tally.bytes))")
    for example in examples {
      display.say(
        "\(label): \(example.error ?? "unknown"): \(example.path): \(example.message ?? "no message")",
        as: .error)
    }
    if tally.failed + tally.cancelled > 0 {
      let state = tally.failed > 0 ? "failed" : "cancelled"
      let selector = selector.map { "\($0) --state \(state)" } ?? "--state \(state)"
      throw ExitError(.failed, "\(tally.failures) For more: haul jobs \(selector)")
    }
  }
}
