import EmbeddedPostgres
import Synchronization

/// The opening of a local pool, which another thread can cancel.
final class PoolOpening: Sendable {
  private struct State {
    var opening: Task<LocalPool, any Error>?
    var pool: LocalPool?
    var isCancelled = false
  }

  private let state = Mutex(State())

  /// Gives `body` the pool, opened, and lets it go afterwards. Once.
  func withPool(
    database: String, at location: ClusterLocation,
    observe: @escaping @Sendable (EmbeddedCluster.Step) -> Void,
    _ body: (LocalPool) async throws -> Void
  ) async throws {
    let pool = try await open(database: database, at: location, observe: observe)
    defer { pool.close() }
    try await body(pool)
  }

  /// Opens the pool, once. Throws as `LocalPool.open`, and `CancellationError` or `cancelled` after ``cancel()``.
  private func open(
    database: String, at location: ClusterLocation,
    observe: @escaping @Sendable (EmbeddedCluster.Step) -> Void
  ) async throws -> LocalPool {
    let opening = Task {
      try await LocalPool.open(database: database, at: location, observe: observe)
    }
    let isCancelled = state.withLock { state in
      state.opening = opening
      return state.isCancelled
    }
    if isCancelled { opening.cancel() }
    let pool = try await opening.value
    state.withLock { $0.pool = pool }
    return pool
  }

  /// A database that is not there yet is waited for no longer. Nothing happens to one that is.
  func cancel() {
    state.withLock { state in
      state.isCancelled = true
      return state.opening
    }?.cancel()
  }

  /// Lets the database go at once, for a process that ends without waiting for anything else.
  func abandon() { state.withLock { $0.pool }?.close() }
}
