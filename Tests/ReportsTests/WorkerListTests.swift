import JobQueue
import Terminal
import Testing

@testable import Reports

/// What a list of workers says of their jobs.
struct WorkerListTests {
  /// More jobs than places are no mistake: the rest waits for a silent host or for a disk.
  @Test(arguments: [(0, "0"), (16, "16"), (18, "16+2")])
  func `jobs beyond the places are counted apart`(running: Int, shown: String) throws {
    let row = try UnknownWordTests.decode(
      WorkerRow.self,
      """
      {"worker": 7, "machine": "host-a", "pid": 1234, "version": "9.0.0", "state": "alive", "running": \(running),
       "concurrency": 16, "rate": 0, "registered_at": "2026-11-21T15:30:12+00:00",
       "heartbeat_at": "2026-11-21T15:30:12+00:00", "expires_at": "2026-11-21T15:30:27+00:00", "silence": 1}
      """)
    #expect(row.placesTaken == shown)
    #expect(Listing(WorkerRow.columns).table([row], on: Screen(width: 80)).contains(shown))
  }

  private func worker(
    _ id: Int, running: Int = 1, state: String = "alive", stores: String = "[\"a\"]",
    queues: String = "null"
  ) throws -> WorkerRow {
    try UnknownWordTests.decode(
      WorkerRow.self,
      """
      {"worker": \(id), "machine": "host-a", "pid": 1234, "version": "9.0.0", "state": "\(state)", "running": \(running),
       "concurrency": 16, "rate": 0, "registered_at": "2026-11-21T15:30:12+00:00", "stores": \(stores), "queues": \(queues),
       "heartbeat_at": "2026-11-21T15:30:12+00:00", "expires_at": "2026-11-21T15:30:27+00:00", "silence": 1}
      """)
  }

  @Test func `a worker that nobody can follow is told`() throws {
    let leaving = try worker(1, queues: "[\"films\"]")
    for (others, isTold) in [
      ([], true), ([try worker(2)], false), ([try worker(2, queues: "[\"films\", \"x\"]")], false),
      ([try worker(2, queues: "[\"x\"]")], true), ([try worker(2, stores: "[\"b\"]")], true),
      ([try worker(2, state: "draining")], true), ([try worker(2, state: "silent")], true),
      ([try worker(2, stores: "null"), try worker(3, stores: "[\"b\", \"a\"]")], false),
    ] {
      let warning = ([leaving] + others).warning(without: leaving)
      #expect((warning != nil) == isTold, "\(others)")
    }
    #expect([WorkerRow]().warning(without: try worker(1, running: 0)) == nil)
  }
}
