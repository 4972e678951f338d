import Postgres
import Schema

/// The calls of a worker. Every call after `register` carries the worker's id and secret.
extension JobQueue {
  /// The id and the secret with which a registered worker makes its calls.
  package struct Caller: Sendable {
    package let worker: Int64
    let secret: String

    /// Creates the caller from the database's reply to a registration.
    package init(_ registration: Registration) {
      worker = registration.worker
      secret = registration.secret
    }
  }

  /// The id in the marker file of a store directory, as a worker read it from disk.
  package struct StoreMarker: Sendable, Encodable {
    let store: String
    let marker: String

    /// Creates a value. `marker` is the UUID from the directory that is mounted as the store `store`.
    package init(store: String, marker: String) {
      self.store = store
      self.marker = marker
    }
  }

  /// Registers this process as a worker that claims jobs from `queues`; nil means every queue whose store the worker mounts.
  /// - Throws: `JobQueueError.versionNotServed` if the database does not support this version of the program; `.noSuchName` for
  ///   an unknown store, marker or queue, or for a queue whose files go to a store that this worker does not mount.
  package func register(
    program: String, machine: String, pid: Int, concurrency: Int, stores: [StoreMarker],
    queues: [String]? = nil
  ) async throws -> Registration {
    try await callJSON(
      "SELECT haul.register($1::int, $2, $3, $4::int, $5::int, $6::jsonb, $7::text[])",
      [Schema.version, program, machine, pid, concurrency, try Self.json(stores), queues])
  }

  /// Records the URL schemes that the worker can download, and the networks that it may connect to in addition to public
  /// addresses. The record does not affect which jobs the worker can claim.
  package func tellReach(
    _ caller: Caller, schemes: [String], networks: [String]
  ) async throws {
    try await rows(
      "SELECT haul.tell_reach($1, $2, $3::text[], $4::inet[])",
      [caller.worker, caller.secret, schemes, networks])
  }

  /// Binds this database session to the worker. While the session lives, the worker counts as connected.
  package func attachSession(_ caller: Caller) async throws {
    try await rows(
      "SELECT haul.attach_session($1, $2)", [caller.worker, caller.secret])
  }

  /// Records the ends of leases, and then claims up to `room` jobs in the same transaction.
  ///
  /// `number` is 1 for the worker's first call, 2 for the next call, and so on. If a reply was lost, repeat the call with the
  /// same number; the database then returns the same reply. If `queues` is nil, the worker claims from every queue whose store
  /// it mounts.
  package func work(
    _ caller: Caller, number: Int64, endings: [LeaseEnding], queues: [String]?, room: Int
  ) async throws -> WorkReply {
    try await callJSON(
      "SELECT haul.work($1, $2, $3, $4::jsonb, $5::text[], $6::int)",
      [caller.worker, caller.secret, number, try Self.json(endings), queues, room])
  }

  /// Extends all leases of the worker, and reports progress and download rates. The call does not wait for workers that claim
  /// jobs. `seen` is the number of the last `work` call whose reply the worker has read.
  package func heartbeat(
    _ caller: Caller, seen: Int64, holding: [Progress], received: [ReceivedRate] = []
  ) async throws -> HeartbeatReply {
    try await callJSON(
      "SELECT haul.heartbeat($1, $2, $3, $4::jsonb, $5::jsonb)",
      [caller.worker, caller.secret, seen, try Self.json(holding), try Self.json(received)])
  }

  /// Records durable progress of leases, each identified by its fencing token. Returns the tokens of the leases that are still
  /// valid. The rows of these leases are durable on return. A row whose token is no longer valid changes nothing; that is not
  /// an error.
  package func checkpoint(_ caller: Caller, _ rows: [CheckpointRow]) async throws -> Set<Int64> {
    let live: [Int64] = try await call(
      "SELECT haul.checkpoint($1, $2, $3::jsonb)",
      [caller.worker, caller.secret, try Self.json(rows)])
    return Set(live)
  }

  /// Returns whether no job in `queues` is queued, scheduled, interrupted or running.
  package func isIdle(_ caller: Caller, queues: [String]?) async throws -> Bool {
    try await call(
      "SELECT haul.is_idle($1, $2, $3::text[])", [caller.worker, caller.secret, queues])
  }

  /// Returns the part files in `parts` that no job needs any more. All of `parts` are in one directory of a store, and
  /// `instance` is the id of this directory.
  package func unneededParts(
    _ caller: Caller, instance: Int, _ parts: [HeartbeatReply.Held]
  ) async throws -> [HeartbeatReply.Held] {
    try await callJSON(
      "SELECT haul.unneeded_parts($1, $2, $3::int, $4::jsonb)",
      [caller.worker, caller.secret, instance, try Self.json(parts)])
  }

  /// Records why the worker cannot write to one of its stores. The worker then gets no jobs for that store. If the reason is
  /// nil, the worker gets jobs for the store again.
  package func closeStore(
    _ caller: Caller, _ store: String, because reason: String?
  ) async throws {
    try await rows(
      "SELECT haul.close_store($1, $2, $3, $4)", [caller.worker, caller.secret, store, reason])
  }

  /// Records the result of a check for copied store directories. Each worker writes a small file, its sign, into every store
  /// directory that it uses, and looks for the signs of the other workers there. `signs` says which signs the worker wrote and
  /// which it did not find. Returns the other workers that have signs in these directories.
  package func signStores(_ caller: Caller, _ signs: [StoreSign]) async throws -> [StorePeer] {
    try await callJSON(
      "SELECT haul.sign_stores($1, $2, $3::jsonb)",
      [caller.worker, caller.secret, try Self.json(signs)])
  }

  /// Ends the registration of the worker. This must be the worker's last call. Jobs that the worker still holds may be taken
  /// back immediately.
  package func stopWorker(_ caller: Caller) async throws {
    try await rows("SELECT haul.stop_worker($1, $2)", [caller.worker, caller.secret])
  }
}

/// The calls with which one process maintains the pool, once per second. This process is the leader.
extension JobQueue {
  /// Makes this connection the leader if there is no other. Returns whether the connection must run the pool's maintenance now,
  /// because it is the leader or because the leader hangs. A connection stays the leader until the connection closes or hangs.
  /// - Throws: `PostgresError.noSession` if a pooler has changed the server process of the connection. Then another session may
  ///   be the leader.
  package func lead() async throws -> Bool {
    let row = try await rows("SELECT haul.lead(), pg_backend_pid()", [])[0]
    guard try row.decode(1, as: Int32.self) == connection.backendPID else {
      throw PostgresError.noSession
    }
    return try row.decode(0)
  }

  /// Takes jobs back from workers that have stopped sending heartbeats. Call this once in each maintenance round.
  package func rescue() async throws -> RescueReply {
    try await callJSON("SELECT haul.rescue()", [])
  }

  /// Queues up to `limit` scheduled jobs whose start time has come.
  ///
  /// Returns the number of these jobs, and the number of interrupted jobs that waited too long for a worker that can read their
  /// part files. Any worker may now claim these interrupted jobs.
  package func promote(limit: Int) async throws -> (due: Int, unheld: Int) {
    let row = try await rows(
      "SELECT due, unheld FROM haul.promote($1::int)", [limit])[0]
    return (try row.decode("due"), try row.decode("unheld"))
  }

  /// Updates the totals of batches with up to `limit` recorded changes of jobs. Returns the number of these changes.
  package func rollUp(limit: Int) async throws -> Int {
    try await call("SELECT haul.roll_up($1::int)", [limit])
  }

  /// Continues an operator's command on a whole batch, for up to `limit` jobs, if the program that ran the command has ended.
  package func sweepOn(limit: Int) async throws {
    let _: Int = try await call("SELECT haul.sweep_on($1::int)", [limit])
  }

  /// Deletes up to `limit` lines of submissions that were interrupted before they created jobs.
  package func clearSubmissions(limit: Int) async throws {
    let _: Int = try await call("SELECT haul.clear_submissions($1::int)", [limit])
  }

  /// Creates partitions until the tables have room for `room` more jobs.
  package func ensurePartitions(room: Int64) async throws {
    let _: Int = try await call("SELECT haul.ensure_partitions($1)", [room])
  }
}
