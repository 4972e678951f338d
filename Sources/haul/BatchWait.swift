import Arguments
import JobQueue
import Log
import Postgres
import Terminal

/// Waits until all jobs of a batch have ended, through outages of the database too.
struct BatchWait {
  let database: DatabaseOptions
  let output: OutputOptions
  let batch: String

  /// Between two looks, unless looking itself takes long.
  private static let interval = Duration.milliseconds(500)
  /// Between two lines that say how far it is.
  private static let reportInterval = Duration.seconds(5)

  /// A name for a batch that the user did not name.
  static func inventName() -> String {
    "submit-" + String(UInt64.random(in: 1 << 60...UInt64.max), radix: 16)
  }

  /// - Throws: `ExitError` with code 1 if jobs failed or were cancelled.
  func run() async throws {
    let session = Session(database.configuration)
    do {
      let tally = try await lastTally(session)
      await session.close()
      try conclude(tally)
    } catch {
      await session.close()
      throw error
    }
  }

  private func lastTally(_ session: Session) async throws -> Tally {
    let clock = ContinuousClock()
    var reported = clock.now
    while true {
      let start = clock.now
      if let tally = try await look(session) {
        if tally.pending == 0 { return tally }
        if reported.duration(to: .now) >= Self.reportInterval {
          reported = clock.now
          try StandardStream.error.write("haul submit: \(tally.progress)\n")
        }
      }
      // A batch of millions takes a while to count, and that must not keep the database busy.
      try await clock.sleep(for: max(Self.interval, start.duration(to: .now) * 9))
    }
  }

  /// nil when the connection was lost meanwhile: the session makes a new one.
  private func look(_ session: Session) async throws -> Tally? {
    do {
      return try await session.withConnection { connection in
        Tally(try await JobQueue(connection).batchCounts(batch))
      }
    } catch let error as PostgresError where error.isTransient {
      return nil
    }
  }

  private func conclude(_ tally: Tally) throws {
    try output.print(
      [
        .init("batch", .string(batch)), .init("completed", .number(tally.completed)),
        .init("failed", .number(tally.failed)), .init("cancelled", .number(tally.cancelled)),
        .init("errors", .object(tally.errors.map { .init($0.name, .number($0.jobs)) })),
      ],
      orSay: "completed \(counted(tally.completed, "job"))")
    if tally.failed + tally.cancelled > 0 { throw ExitError(.failed, tally.failures) }
  }
}

/// How far a batch is.
struct Tally {
  private(set) var completed = 0
  private(set) var failed = 0
  private(set) var cancelled = 0
  private(set) var running = 0
  private(set) var paused = 0
  /// All that have not ended, running and paused ones too.
  private(set) var pending = 0
  /// Failed jobs by error class, in the order of the names.
  private(set) var errors: [(name: String, jobs: Int)] = []

  init(_ counts: [BatchCount]) {
    for count in counts {
      switch count.state {
      case "completed": completed += count.jobs
      case "cancelled": cancelled += count.jobs
      case "failed":
        failed += count.jobs
        errors.append((count.error ?? "unknown", count.jobs))
      default: pending += count.jobs
      }
      if count.state == "running" { running += count.jobs }
      if count.state == "paused" { paused += count.jobs }
    }
  }

  /// `3 of 12 ended, 1 failed, 4 running`.
  var progress: String {
    let ended = completed + failed + cancelled
    return "\(ended) of \(counted(ended + pending, "job")) ended, \(failed) failed, "
      + "\(running) running" + (paused > 0 ? ", \(paused) paused" : "")
  }

  /// `3 jobs failed (2 http_4xx, 1 exists), 1 cancelled.`
  var failures: String {
    let classes = errors.map { "\($0.jobs) \($0.name)" }.joined(separator: ", ")
    let failed = "\(counted(failed, "job")) failed" + (classes.isEmpty ? "" : " (\(classes))")
    return failed + (cancelled > 0 ? ", \(cancelled) cancelled." : ".")
  }
}
