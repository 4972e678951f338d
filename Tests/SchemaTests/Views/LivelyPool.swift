import Foundation
import JobModel
import JobQueue
import Postgres
import TestSupport

/// A pool in which all that operators ask about has happened or is happening. Jobs have the ids 1, 2, … in the order below.
enum LivelyPool {
  static func fill(_ pool: Pool) async throws {
    _ = try await pool.jobs.initStore(
      name: "cold", marker: UUID().uuidString, machine: "nas", root: "/cold")
    let busy = try await pool.worker(concurrency: 9)
    let lost = try await pool.worker(concurrency: 9)
    try await completed(pool, busy)
    try await handedOver(pool, busy, lost)
    try await keep(pool)
    try await failed(pool, busy)
    try await waiting(pool, busy)
    // Has died with a part file, since when nobody with its store has had room for the job.
    try await pool.submit(to: "other.test")
    let lease = try await lost.claimOne()
    try await lost.checkpoint(lease, bytes: 7000, instance: pool.instance)
    try await pool.endGrace()
    try await pool.silence(lost, for: 60)
    _ = try await pool.jobs.rescue()
    let full = try await pool.worker(concurrency: 1)
    try await keep(pool, but: lost)
    try await pool.execute(
      "UPDATE haul.worker SET closed_stores = jsonb_build_object($1::text, 'No space left on device') WHERE id = $2",
      ["\(pool.instance)", full.caller.worker])
    try await pool.execute("SELECT haul.roll_up(1000)")
    // However long all this took: it was one minute, and the last round of housekeeping has just been.
    try await pool.execute(
      """
      WITH gone AS (DELETE FROM haul.minute RETURNING *)
      INSERT INTO haul.minute SELECT min(at), sum(completed), sum(failed), sum(cancelled), sum(bytes) FROM gone
      """)
    try await pool.execute("UPDATE haul.pulse SET round_at = clock_timestamp() + interval '1 hour'")
  }

  /// However long all this takes, and the questions after it: nobody falls silent or dies but who is said to.
  private static func keep(_ pool: Pool, but lost: TestWorker? = nil) async throws {
    try await pool.execute(
      """
      UPDATE haul.worker SET heartbeat_at = clock_timestamp() + interval '1 hour',
        expires_at = clock_timestamp() + interval '1 hour' WHERE id <> $1
      """, [lost?.caller.worker ?? 0])
  }

  /// 1 from a fast host and 2 from a slow one, both of the batch films.
  private static func completed(_ pool: Pool, _ worker: TestWorker) async throws {
    for (host, seconds) in [("fast.test", 1), ("slow.test", 100)] {
      let job = try await pool.submit(to: host, batch: "films")[0]
      var ending = LeaseEnding(
        job: job, token: try await worker.claimOne().token, result: .completed)
      ending.bytes = 1_000_000
      ending.fetched = 1_000_000
      ending.status = 200
      try await worker.call([ending])
      try await pool.execute(
        "UPDATE haul.attempt SET started_at = ended_at - make_interval(secs => $2) WHERE job = $1",
        [job, seconds])
    }
  }

  /// 3 is in the middle. 4 was released by the lost worker, and the busy one has gone on.
  private static func handedOver(
    _ pool: Pool, _ busy: TestWorker, _ lost: TestWorker
  ) async throws {
    try await pool.submit(to: "slow.test", batch: "films")
    let running = try await busy.claimOne()
    try await pool.submit(to: "fast.test", batch: "films")
    let first = try await lost.claimOne()
    try await lost.checkpoint(first, bytes: 4096, instance: pool.instance)
    var ending = LeaseEnding(job: first.job, token: first.token, result: .released)
    ending.fetched = 5000
    try await lost.call([ending])
    let second = try await busy.claimOne()
    try await busy.checkpoint(running, bytes: 2_000_000, instance: pool.instance)
    _ = try await JobQueue(busy.life).heartbeat(
      busy.caller, seen: 9,
      holding: [
        Progress(
          job: running.job, token: running.token, bytes: 3_000_000, total: 8_000_000, rate: 50_000),
        Progress(job: second.job, token: second.token, bytes: 6000, total: 8192, rate: 0),
      ], received: [ReceivedRate(queue: "data", batch: "films", rate: 50_000)])
  }

  /// 5 is refused by its host, which is blocked with 6 behind it. 7 is not there, 8 was given up once and took too long.
  private static func failed(_ pool: Pool, _ worker: TestWorker) async throws {
    try await pool.submit(to: "refusing.test")
    try await worker.end(worker.claimOne(), .failed, "rate_limited", retryAfter: 600)
    try await pool.submit(to: "refusing.test")
    try await pool.submit(to: "gone.test", batch: "films")
    try await worker.end(worker.claimOne(), .failed, "http_4xx")
    var once = JobOptions()
    once.maxAttempts = 1
    try await pool.submit(to: "flaky.test", options: once)
    try await worker.end(worker.claimOne(), .released)
    try await worker.end(worker.claimOne(), .failed, "timeout")
  }

  /// Of 9 and 10 the host takes one at a time. 11 is for a store that nobody mounts.
  private static func waiting(_ pool: Pool, _ worker: TestWorker) async throws {
    try await pool.execute("SELECT haul.set_host('full.test', 1, NULL, NULL)")
    try await pool.submit(2, to: "full.test", batch: "films")
    _ = try await worker.claimOne()
    _ = try await worker.claim(1)
    try await pool.submit(to: "cold.test", queue: "cold")
  }
}
