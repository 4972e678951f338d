import Postgres
import Schema

/// What a worker calls. Every call after `register` carries the worker's id and secret.
extension JobQueue {
  /// A registered worker: who calls.
  package struct Caller: Sendable {
    package let worker: Int64
    let secret: String

    /// The caller that `registration` made.
    package init(_ registration: Registration) {
      worker = registration.worker
      secret = registration.secret
    }
  }

  /// A store as a worker found it on its disk.
  package struct StoreMarker: Sendable, Encodable {
    let store: String
    let marker: String

    /// The marker (a UUID) read from the directory mounted as `store`.
    package init(store: String, marker: String) {
      self.store = store
      self.marker = marker
    }
  }

  /// Registers this process, which is going to claim from `queues`; nil means every queue whose store it mounts.
  /// - Throws: `JobQueueError.versionNotServed`, `.noSuchName` for a store or marker that is not known, or a queue that is not,
  ///   or whose files go elsewhere.
  package func register(
    program: String, machine: String, pid: Int, concurrency: Int, stores: [StoreMarker],
    queues: [String]? = nil
  ) async throws -> Registration {
    try await callJSON(
      "SELECT haul.register($1::int, $2, $3, $4::int, $5::int, $6::jsonb, $7::text[])",
      [Schema.version, program, machine, pid, concurrency, try Self.json(stores), queues])
  }

  /// Records what the worker may fetch: URLs of `schemes`, and from `networks` besides public addresses. No claim depends on it.
  package func tellReach(
    _ caller: Caller, schemes: [String], networks: [String]
  ) async throws {
    try await rows(
      "SELECT haul.tell_reach($1, $2, $3::text[], $4::inet[])",
      [caller.worker, caller.secret, schemes, networks])
  }

  /// Ties this connection's session to the worker: while it lives, the worker counts as connected.
  package func attachSession(_ caller: Caller) async throws {
    try await rows(
      "SELECT haul.attach_session($1, $2)", [caller.worker, caller.secret])
  }

  /// Settles `endings`, then claims up to `room` jobs; one commit.
  ///
  /// `number` is 1, 2, 3, … for this worker: repeating one whose reply was lost gives that reply again.
  /// `queues` nil means every queue whose store the worker mounts.
  package func work(
    _ caller: Caller, number: Int64, endings: [LeaseEnding], queues: [String]?, room: Int
  ) async throws -> WorkReply {
    try await callJSON(
      "SELECT haul.work($1, $2, $3, $4::jsonb, $5::text[], $6::int)",
      [caller.worker, caller.secret, number, try Self.json(endings), queues, room])
  }

  /// Extends all leases of the worker and reports progress and what it receives; locks nothing that a claim holds.
  /// `seen` is the last number of `work` whose reply was taken in.
  package func heartbeat(
    _ caller: Caller, seen: Int64, holding: [Progress], received: [ReceivedRate] = []
  ) async throws -> HeartbeatReply {
    try await callJSON(
      "SELECT haul.heartbeat($1, $2, $3, $4::jsonb, $5::jsonb)",
      [caller.worker, caller.secret, seen, try Self.json(holding), try Self.json(received)])
  }

  /// Records durable progress. Returns the tokens that are live; their rows are durable on return. A stale
  /// token is missing from the result and changed nothing; that is not an error.
  package func checkpoint(_ caller: Caller, _ rows: [CheckpointRow]) async throws -> Set<Int64> {
    let live: [Int64] = try await call(
      "SELECT haul.checkpoint($1, $2, $3::jsonb)",
      [caller.worker, caller.secret, try Self.json(rows)])
    return Set(live)
  }

  /// Whether nothing is queued, scheduled, interrupted or running in `queues`.
  package func isIdle(_ caller: Caller, queues: [String]?) async throws -> Bool {
    try await call(
      "SELECT haul.is_idle($1, $2, $3::text[])", [caller.worker, caller.secret, queues])
  }

  /// Returns those of the part files of a store instance that are no longer needed.
  package func unneededParts(
    _ caller: Caller, instance: Int, _ parts: [HeartbeatReply.Held]
  ) async throws -> [HeartbeatReply.Held] {
    try await callJSON(
      "SELECT haul.unneeded_parts($1, $2, $3::int, $4::jsonb)",
      [caller.worker, caller.secret, instance, try Self.json(parts)])
  }

  /// Says what keeps the worker from writing to one of its stores: from here on it is given no job for it. nil opens the store again.
  package func closeStore(
    _ caller: Caller, _ store: String, because reason: String?
  ) async throws {
    try await rows(
      "SELECT haul.close_store($1, $2, $3, $4)", [caller.worker, caller.secret, store, reason])
  }

  /// Records the worker's signs in directories of stores; returns the other workers that have signed these instances.
  package func signStores(_ caller: Caller, _ signs: [StoreSign]) async throws -> [StorePeer] {
    try await callJSON(
      "SELECT haul.sign_stores($1, $2, $3::jsonb)",
      [caller.worker, caller.secret, try Self.json(signs)])
  }

  /// The worker's last call: what it still holds may be rescued at once.
  package func stopWorker(_ caller: Caller) async throws {
    try await rows("SELECT haul.stop_worker($1, $2)", [caller.worker, caller.secret])
  }
}

/// What the leader calls, once a second.
extension JobQueue {
  /// Whether this connection must run maintenance now: it leads until it closes, or the leader hangs.
  /// - Throws: `PostgresError.noSession` where the lock may be another session's, whatever the connection was at its beginning.
  package func lead() async throws -> Bool {
    let row = try await rows("SELECT haul.lead(), pg_backend_pid()", [])[0]
    guard try row.decode(1, as: Int32.self) == connection.backendPID else {
      throw PostgresError.noSession
    }
    return try row.decode(0)
  }

  /// One round of rescue.
  package func rescue() async throws -> RescueReply {
    try await callJSON("SELECT haul.rescue()", [])
  }

  /// Moves up to `limit` due jobs to where they can be claimed; returns how many were due and how many
  /// were held too long for a worker with their part file.
  package func promote(limit: Int) async throws -> (due: Int, unheld: Int) {
    let row = try await rows(
      "SELECT due, unheld FROM haul.promote($1::int)", [limit])[0]
    return (try row.decode("due"), try row.decode("unheld"))
  }

  /// Adds up to `limit` changes to the totals of their batches; returns how many.
  package func rollUp(limit: Int) async throws -> Int {
    try await call("SELECT haul.roll_up($1::int)", [limit])
  }

  /// Continues an operator's command on a whole batch if its program has ended, by up to `limit` jobs.
  package func sweepOn(limit: Int) async throws {
    let _: Int = try await call("SELECT haul.sweep_on($1::int)", [limit])
  }

  /// Removes up to `limit` staged lines of submissions that have broken off.
  package func clearSubmissions(limit: Int) async throws {
    let _: Int = try await call("SELECT haul.clear_submissions($1::int)", [limit])
  }

  /// Makes partitions until `room` more jobs fit.
  package func ensurePartitions(room: Int64) async throws {
    let _: Int = try await call("SELECT haul.ensure_partitions($1)", [room])
  }
}
