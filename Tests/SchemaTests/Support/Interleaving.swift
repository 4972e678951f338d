import Postgres
import TestSupport
import Testing

/// Two sessions and the order of their steps.
extension Pool {
  /// Begins on `holder` what `first` does and leaves it uncommitted, starts `second`, which must be stopped by
  /// a lock of it, then commits and returns what `second` gave.
  func commit<Result: Sendable>(
    _ holder: Connection, _ first: () async throws -> Void,
    while blocked: Connection, _ second: @escaping @Sendable () async throws -> Result
  ) async throws -> Result {
    try await beStubborn()
    try await holder.script("BEGIN")
    try await first()
    let waiting = Task { try await second() }
    try await untilBlocked(blocked)
    try await holder.script("COMMIT")
    return try await waiting.value
  }

  /// Lets functions that give up after a moment wait for a lock, so that it is the order of the steps that decides.
  func beStubborn() async throws {
    for function in [
      "end_leases(bigint, jsonb)", "promote(integer)", "rescue()", "sweep_on(integer)",
    ] {
      try await execute("ALTER FUNCTION haul.\(function) SET lock_timeout = '1min'")
    }
  }

  /// Does `body` while a session of its own holds what `statement` locks.
  func holding<Result>(
    _ statement: String, _ body: () async throws -> Result
  ) async throws -> Result {
    let holder = try await connect()
    try await holder.script("BEGIN; \(statement)")
    let result = try await body()
    try await holder.script("ROLLBACK")
    await holder.close()
    return result
  }

  /// A session whose statements fail instead of waiting for a lock.
  func impatient() async throws -> Connection {
    let session = try await connect()
    try await session.script("SET lock_timeout = '100ms'")
    return session
  }

  /// A worker whose sessions fail instead of waiting for a lock.
  func impatientWorker() async throws -> TestWorker {
    let worker = try await worker()
    for session in [worker.work, worker.life] {
      try await session.script("SET lock_timeout = '100ms'")
    }
    return worker
  }
}
