import JobModel
import JobQueue
import Postgres
import Testing

/// A worker as the database sees it: numbered calls on one session, heartbeats on another.
actor TestWorker {
  nonisolated let caller: JobQueue.Caller
  /// The session of `work` and `checkpoint`.
  nonisolated let work: Connection
  /// The session of heartbeats.
  nonisolated let life: Connection
  /// The number of the last call of `work`.
  private(set) var number: Int64 = 0

  init(caller: JobQueue.Caller, work: Connection, life: Connection) {
    self.caller = caller
    self.work = work
    self.life = life
  }

  /// The next call: settles, then claims up to `room`.
  @discardableResult
  func call(
    _ endings: [LeaseEnding] = [], room: Int = 0, queues: [String]? = nil
  ) async throws -> WorkReply {
    number += 1
    return try await repeatCall(endings, room: room, queues: queues)
  }

  /// The last call once more, as after a lost reply.
  func repeatCall(
    _ endings: [LeaseEnding] = [], room: Int = 0, queues: [String]? = nil
  ) async throws -> WorkReply {
    try await JobQueue(work).work(
      caller, number: number, endings: endings, queues: queues, room: room)
  }

  /// Claims up to `room` jobs.
  @discardableResult
  func claim(_ room: Int = 1, queues: [String]? = nil) async throws -> [Lease] {
    try await call(room: room, queues: queues).claimed
  }

  /// Claims exactly one job.
  func claimOne() async throws -> Lease {
    let leases = try await claim(1)
    return try #require(leases.first)
  }

  /// Ends one lease and returns the job's state, nil if the token was stale.
  @discardableResult
  func end(
    _ lease: Lease, _ result: LeaseEnding.Result, _ error: ErrorClass? = nil,
    retryAfter: Double? = nil,
    host: String? = nil
  ) async throws -> JobState? {
    var ending = LeaseEnding(job: lease.job, token: lease.token, result: result)
    ending.error = error
    ending.message = error.map { "trouble: \($0)" }
    ending.retryAfter = retryAfter
    ending.host = host
    return try await call([ending]).settled.first?.state
  }

  @discardableResult
  func heartbeat(_ holding: [Lease] = []) async throws -> HeartbeatReply {
    try await JobQueue(life).heartbeat(
      caller, seen: number,
      holding: holding.map {
        Progress(job: $0.job, token: $0.token, bytes: 1, total: nil, rate: 1)
      })
  }

  /// Records that the first `bytes` bytes are durable in `instance`; true if the token is live.
  @discardableResult
  func checkpoint(_ lease: Lease, bytes: Int64 = 4096, instance: Int) async throws -> Bool {
    let live = try await JobQueue(work).checkpoint(
      caller,
      [
        CheckpointRow(
          job: lease.job, token: lease.token, instance: instance, durable: "{[0,\(bytes))}",
          length: 2 * bytes, resume: #"{"part":"x"}"#)
      ])
    return live.contains(lease.token)
  }
}
