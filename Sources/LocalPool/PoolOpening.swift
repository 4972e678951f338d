import EmbeddedPostgres
import Synchronization

/// Opens a local pool. Another thread can cancel this.
final class PoolOpening: Sendable {
  private struct State {
    var opening: Task<LocalPool, any Error>?
    var pool: LocalPool?
    var isCancelled = false
  }

  private let state = Mutex(State())

  /// Opens the pool, passes it to `body`, and closes it afterwards. Call this only once.
  func withPool(
    database: String, at location: ClusterLocation,
    observe: @escaping @Sendable (EmbeddedCluster.Step) -> Void,
    _ body: (LocalPool) async throws -> Void
  ) async throws {
    let pool = try await open(database: database, at: location, observe: observe)
    defer { pool.close() }
    try await body(pool)
  }

  /// Opens the pool. Throws the errors of `LocalPool.open`, and `CancellationError` or `cancelled` after ``cancel()``.
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

  /// Stops waiting for a database that is not ready yet. A pool that is already open stays unchanged.
  func cancel() {
    state.withLock { state in
      state.isCancelled = true
      return state.opening
    }?.cancel()
  }

  /// Releases the database immediately, for a process that ends without waiting for anything else.
  func abandon() { state.withLock { $0.pool }?.close() }
}
