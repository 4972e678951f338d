import Glibc
import Postgres
import TestSupport
import Testing

/// A worker that stands still past its lease, while another takes the job, and then goes on as if nothing had happened.
@Suite struct StoppedWorkerTests {
  /// What the stopped worker had when it stopped, and when it goes on.
  struct Case: Sendable, CustomTestStringConvertible {
    var hasCheckpoint: Bool
    var sourceChanges: Bool
    /// Before the other worker has finished, or after.
    var wakesEarly: Bool
    /// The lease is left to run out: the worker stops by its own clock when it wakes, before it hears anything.
    var expires = false

    var testDescription: String {
      (hasCheckpoint ? "with a checkpoint" : "without a checkpoint")
        + (sourceChanges ? ", source changed" : "")
        + (expires ? ", after its expiry" : "")
        + (wakesEarly ? ", wakes before the other is done" : ", wakes after")
    }

    static let all =
      [true, false].flatMap { hasCheckpoint in
        [true, false].flatMap { sourceChanges in
          [true, false].map {
            Case(hasCheckpoint: hasCheckpoint, sourceChanges: sourceChanges, wakesEarly: $0)
          }
        }
      }
      + [true, false].map {
        Case(hasCheckpoint: $0, sourceChanges: false, wakesEarly: true, expires: true)
      }
  }

  private let length: Int64 = 1_000_000

  /// 1. A takes the job under token 1 and stops in the middle.
  /// 2. Its lease ends; B takes the job under token 10, so that the name of A's part is how the name of B's begins.
  /// 3. A goes on, before or after B has finished.
  @Test(arguments: Case.all)
  func `a worker stopped in the middle finishes nothing twice and spoils nothing`(
    _ scenario: Case
  ) async throws {
    let (half, late) = (Gate("half"), Gate("late"))
    var first = Representation(seed: 1, length: length)
    first.gates = [500_000: half, 750_000: late]
    let site = Site(["/file": first])
    let origin = try OriginServer(handler: site.answer)
    try await HaulPool.open { pool in
      let coordinator = try await pool.coordinator()
      let job = try await pool.submit(origin.url("/file"), to: "file")
      let one = try pool.worker()
      try await origin.sent(500_000)
      if scenario.hasCheckpoint { try await one.event("job.checkpoint") }
      try await one.stop()
      try await pool.admin.execute("SELECT setval('haul.token', 9)")

      let seed: UInt64 = scenario.sourceChanges ? 2 : 1
      if scenario.sourceChanges {
        var second = Representation(seed: seed, length: length)
        second.gates = [750_000: late]
        site["/file"] = second
      }
      if scenario.expires {
        try await coordinator.event("rescue.done", within: .seconds(60))
      } else {
        try await pool.expire(one.workerNumber())
      }
      let two = try pool.worker()
      half.open()
      if scenario.wakesEarly {
        let start: Int64 = scenario.hasCheckpoint && !scenario.sourceChanges ? 500_000 - 4096 : 0
        try await origin.log.first("the second worker at the second gate") { log in
          log.exchanges.count == 2 && log.exchanges[1].sent >= 750_000 - start ? () : nil
        }
        one.wake()
        try await one.gaveUp()
      }
      late.open()
      try await two.event("job.completed")
      if !scenario.wakesEarly {
        one.wake()
        try await one.gaveUp()
      }
      try await one.drain()
      try await two.drain()
      try await coordinator.drain()

      #expect(try await pool.attempts(at: job) == ["rescued", "completed"])
      #expect(one.events("job.completed").isEmpty)
      #expect(try pool.files() == ["file"])
      let file = pool.directory + "/file"
      #expect(
        try FileTree.firstDifference(of: file, from: Pattern(seed: seed), length: length) == nil)
      #expect(try await pool.violations() == [])
      #expect(origin.log.value.exchanges.count == 2)
      let resumes = scenario.hasCheckpoint ? "bytes=495904-999999" : nil
      #expect(origin.log.value.exchanges.last?.request[field: "Range"] == resumes)
    }
  }

  /// 1. A leads, takes the job and stops. Its session lives on, and with it the leader's lock.
  /// 2. B keeps house in its place, rescues the job and does it.
  @Test func `a leader that stands still is stood in for`() async throws {
    let half = Gate("half")
    var representation = Representation(seed: 1, length: length)
    representation.gates = [500_000: half]
    let origin = try OriginServer(handler: Site(["/file": representation]).answer)
    try await HaulPool.open { pool in
      let job = try await pool.submit(origin.url("/file"), to: "file")
      let one = try pool.worker()
      try await one.event("leader.elected")
      try await origin.sent(500_000)
      let two = try pool.worker()
      try await two.event("worker.started")
      try await one.stop()
      try await pool.expire(one.workerNumber())
      half.open()
      try await two.event("job.completed")
      for _ in 1...3 { try await pool.nextRound() }
      one.wake()
      try await one.gaveUp()
      try await one.drain()
      try await two.drain()
      #expect(two.events("leader.elected").count == 1)
      #expect(try await pool.attempts(at: job) == ["rescued", "completed"])
      #expect(try pool.files() == ["file"])
      #expect(try await pool.violations() == [])
    }
  }
}

extension HaulPool {
  /// Waits until somebody has kept house once more.
  fileprivate func nextRound() async throws {
    let round = "SELECT round_at::text FROM haul.pulse"
    let last: String = try await value(round)
    try await eventually("a round") { try await value(round) != last }
  }
}
