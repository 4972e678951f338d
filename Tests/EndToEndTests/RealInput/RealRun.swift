import Foundation
import TestSupport

/// One run of a real input: four workers, of which one is killed and another drained.
struct RealRun {
  /// When things happened, in milliseconds since 1970.
  struct Times: Sendable {
    var begin: Int64 = 0
    var end: Int64 = 0
    /// The kill, and the first line by which another worker goes on with the job that was watched.
    var kill: Int64 = 0
    var killResumed: Int64 = 0
    /// The first request for it that began after the kill.
    var killRequest: Int64 = 0
    /// The release of a job by the drained worker, and the line by which another goes on with it.
    var release: Int64 = 0
    var releaseResumed: Int64 = 0
    var drain: Int64 = 0
  }

  let pool: HaulPool
  let nginx: Nginx
  let input: RealInput

  /// Submits the list with default paths.
  func submit() async throws {
    let directory = try TemporaryDirectory()
    let list = try directory.write(input.list(of: nginx), to: "list")
    try await pool.command("submit", "-i", list)
  }

  /// To the end of the last worker.
  func carryOut(cap: Int) async throws -> Times {
    var times = Times(begin: now())
    try await pool.command("host", "set", nginx.host, "--cap", "\(cap)")
    try await submit()
    var workers = try (0..<4).map { _ in try pool.worker("--concurrency", "8", "--exit-when-idle") }

    let (victim, point) = try await first(
      "job.checkpoint", of: workers, after: workers.map { _ in nil }
    ) { line in
      number(line, "offset") >= 64 << 20
        && number(line, "offset") + 24 << 20 < number(line, "total")
    }
    try await progress(of: number(point, "job"))
    times.kill = now()
    workers[victim].signal(SIGKILL)
    workers.remove(at: victim)
    let (_, resumed) = try await first(
      "job.resumed", of: workers, after: workers.map { _ in nil }
    ) { $0[field: "job"] == point[field: "job"] }
    times.killResumed = try resumed.milliseconds

    // From here on a coordinator is there to take the lead.
    let coordinator = try pool.start(["coordinator"])
    try await coordinator.event("coordinator.started")

    let marks = workers.map { $0.events("job.checkpoint").last }
    let (leaver, saved) = try await first("job.checkpoint", of: workers, after: marks) { line in
      number(line, "offset") < number(line, "total") / 4 * 3
    }
    times.drain = now()
    workers[leaver].signal(SIGTERM)
    // Its token too: the leader logs what it has taken from others in the same words.
    let released = try await workers[leaver].event("job.released") { line in
      line[field: "token"] == saved[field: "token"]
    }
    times.release = try released.milliseconds
    let leaving = workers.remove(at: leaver)
    let (_, again) = try await first(
      "job.resumed", of: workers, after: workers.map { _ in nil }
    ) { line in
      line[field: "job"] == saved[field: "job"] && number(line, "token") > number(saved, "token")
    }
    times.releaseResumed = try again.milliseconds
    try await finish([leaving] + workers, coordinator)
    times.end = now()
    times.killRequest = try firstRequest(
      for: try await pool.value(
        "SELECT path FROM haul.job WHERE id = $1", [number(point, "job")]), after: times.kill)
    return times
  }

  /// Paths of files that are not in the store as they are at their source, and of others in the store.
  func wrongFiles() throws -> [String] {
    let root = storedRoot
    let expected = Set(input.files.map(\.path))
    let wrong = try input.files.filter { try !FileTree.areEqual($0.source, "\(root)/\($0.path)") }
    let others = try FileTree.files(below: root).filter { !expected.contains($0) }
    return wrong.map(\.path) + others
  }

  /// The directory that default paths begin with.
  var prefix: String { "127.0.0.1_\(nginx.port)/" }

  private var storedRoot: String { "\(pool.directory)/\(prefix)" }

  /// Waits until a job has fetched a good deal that no checkpoint has yet.
  private func progress(of job: Int64) async throws {
    try await eventually("unsaved progress of job \(job)") {
      let ahead: [Int64] = try await pool.values(
        "SELECT bytes - durable FROM haul.running WHERE job = $1", [job])
      return ahead.contains { $0 > 4 << 20 }
    }
  }

  private func finish(_ workers: [HaulProcess], _ coordinator: HaulProcess) async throws {
    for worker in workers {
      let exit = try await worker.exit(within: .seconds(900))
      guard exit == .code(0) else { throw WrongExit(exit: exit) }
    }
    coordinator.signal(SIGTERM)
    let exit = try await coordinator.exit()
    guard exit == .code(0) else { throw WrongExit(exit: exit) }
  }

  private func firstRequest(for path: String, after moment: Int64) throws -> Int64 {
    let target = input.files.first { prefix + $0.path == path }?.target
    return try nginx.accessLog().requests.filter { $0.target == target && $0.begin > moment }
      .map(\.begin).min() ?? 0
  }

  /// The first such line of any of the workers, and whose it is.
  private func first(
    _ event: String, of workers: [HaulProcess], after marks: [LogLine?],
    where matches: @escaping @Sendable (LogLine) -> Bool
  ) async throws -> (Int, LogLine) {
    try await withThrowingTaskGroup(of: (Int, LogLine).self) { group in
      for (index, worker) in workers.enumerated() {
        let mark = marks[index]
        group.addTask {
          (index, try await worker.event(event, after: mark, within: .seconds(240), where: matches))
        }
      }
      defer { group.cancelAll() }
      guard let found = try await group.next() else { throw CancellationError() }
      return found
    }
  }
}

/// A process of the run ended as it should not.
struct WrongExit: Error {
  let exit: ChildProcess.Exit
}

private func number(_ line: LogLine, _ field: String) -> Int64 {
  Int64(line[field: field] ?? "") ?? -1
}

private func now() -> Int64 { Int64(Date().timeIntervalSince1970 * 1000) }
