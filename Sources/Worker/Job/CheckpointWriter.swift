import JobQueue
import Synchronization

/// Records checkpoints of all jobs in batches: one call at a time, with whatever has come together meanwhile.
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

  /// Records `row`. True: the token is live and the row durable. False: the lease is gone, or the worker stops
  /// before the database answered.
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
      // Throws only when the session is closed: then nobody has the answer.
      let live = try? await database.persist { try await $0.checkpoint(caller, rows) }
      for (row, continuation) in batch {
        continuation.resume(returning: live?.contains(row.token) ?? false)
      }
    }
  }
}
