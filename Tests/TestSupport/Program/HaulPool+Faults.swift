import Foundation
import Glibc
import Postgres

extension HaulProcess {
  /// The number that `haul.register` gave this worker.
  package func workerNumber() async throws -> Int64 {
    let line = try await event("worker.registered")
    guard let number = line[field: "worker"].flatMap({ Int64($0) }) else {
      throw TimedOut(what: "a worker's number", limit: .zero, detail: line.text)
    }
    return number
  }

  /// Waits until SIGSTOP has reached every thread (proc(5), state T).
  package func stopped() async throws {
    let tasks = "/proc/\(child.pid)/task"
    try await eventually("process \(child.pid) to be stopped") {
      let threads = try FileManager.default.contentsOfDirectory(atPath: tasks)
      return threads.allSatisfy { thread in
        let stat = try? String(contentsOfFile: "\(tasks)/\(thread)/stat", encoding: .utf8)
        // Behind the program's name, which is in parentheses and may hold anything.
        return stat?.split(separator: ")").last?.hasPrefix(" T") ?? true
      }
    }
  }

  /// Stops it and waits until it stands still.
  package func stop() async throws {
    signal(SIGSTOP)
    try await stopped()
  }

  /// Lets it go on.
  package func wake() { signal(SIGCONT) }

  /// Waits until it has noticed that a lease is not its own any more.
  package func gaveUp(within limit: Duration = .seconds(30)) async throws {
    try await child.first("the loss of a lease", within: limit) { output in
      output.standardError.contains {
        $0.contains("\"lease.lost\"") || $0.contains("\"job.stale\"")
      } ? () : nil
    }
  }

  /// Has it drain, and waits for its end.
  package func drain() async throws {
    signal(SIGTERM)
    let end = try await exit()
    if end != .code(0) { throw TimedOut(what: "an end in order", limit: .zero, detail: "\(end)") }
  }
}

extension HaulPool {
  /// A pool on an empty database, made ready by `haul migrate` and `haul store init`.
  package convenience init(migrating database: TestDatabase) async throws {
    try await self.init(database)
    try await command("migrate", "--share-roles")
    try await initialise(directory)
  }

  /// Starts a coordinator that leads, so that no worker of the test does.
  package func coordinator() async throws -> HaulProcess {
    let coordinator = try start(["coordinator"])
    try await coordinator.event("leader.elected")
    return coordinator
  }

  /// Ends the leases of a worker that is stopped or dead now, not after 15 s, and waits until they have been rescued.
  package func expire(_ worker: Int64) async throws {
    try await eventually("the rescue of worker \(worker)") {
      // Again and again: a heartbeat sent before the stop may be taken in after this.
      _ = try await admin.query(
        "UPDATE haul.worker SET expires_at = clock_timestamp() WHERE id = $1", [worker])
      return try await value("SELECT count(*) FROM haul.lease WHERE worker = $1", [worker]) == 0
    }
  }

  /// Results of the attempts at a job, in the order of their tokens.
  package func attempts(at job: Int64) async throws -> [String] {
    try await values(
      "SELECT result::text FROM haul.attempts WHERE job = $1 ORDER BY token", [job])
  }

  /// Files in the store but for its marker and the signs of workers.
  package func files() throws -> [String] {
    try FileTree.files(below: directory).filter {
      $0 != ".haul/store.json" && !$0.hasPrefix(".haul/workers/")
    }
  }
}
