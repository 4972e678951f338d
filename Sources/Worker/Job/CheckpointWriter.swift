import JobQueue
import Synchronization

/// Records the checkpoints of all jobs in batches: one call at a time, with all rows that came since the last call.
final class CheckpointWriter: Sendable {
  private struct State {
    var waiting: [(CheckpointRow, CheckedContinuation<Bool, Never>)] = []
    var isBusy = false
  }

  private let database: Database
  private let state = Mutex(State())

  init(_ database: Database) {
    self.database = database
  }

  /// Records `row`. Returns true if the token is live and the row is durable. Returns false if the lease is lost, or if the
  /// worker stops before the database has answered.
  func save(_ row: CheckpointRow) async -> Bool {
    await withCheckedContinuation { continuation in
      let begins = state.withLock { state in
        state.waiting.append((row, continuation))
        defer { state.isBusy = true }
        return !state.isBusy
      }
      if begins { Task { await drain() } }
    }
  }

  private func drain() async {
    while true {
      let batch = state.withLock { state in
        defer { state.waiting = [] }
        state.isBusy = !state.waiting.isEmpty
        return state.waiting
      }
      if batch.isEmpty { return }
      let rows = batch.map(\.0)
      let caller = database.caller
      // This throws only if the session is closed. Then the answer is unknown.
      let live = try? await database.persist { try await $0.checkpoint(caller, rows) }
      for (row, continuation) in batch {
        continuation.resume(returning: live?.contains(row.token) ?? false)
      }
    }
  }
}
