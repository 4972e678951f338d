import HaulSystem

extension Connection {
  /// Sends rows with `COPY … FROM STDIN` and returns how many were stored.
  ///
  /// All or nothing: an error, also one that `chunks` throws, or the task's cancellation ends the
  /// COPY as failed. A row the server refuses shows when all chunks are sent. The time-out holds for
  /// each chunk and for the end. Chunks are pieces of COPY's text or CSV, cut anywhere; some tens of
  /// KiB each is best.
  package func copyIn(
    _ sql: String, _ chunks: some AsyncSequence<[UInt8], any Error> & Sendable
  ) async throws -> Int {
    if isShared, !isTransaction {
      return try await attemptTransaction { try await $0.copyIn(sql, chunks) }
    }
    try await takeTurn(shielded: false)
    defer { mutex.release() }
    _ = try await link.perform(.copyStart(sql))
    do {
      for try await chunk in chunks {
        _ = try await link.perform(.copyData(chunk))
      }
      // A cancelled task's sequences end early, and that must not look like the end of the data.
      try Task.checkCancellation()
    } catch {
      // The server's answer is the failure that is asked for here.
      _ = try? await link.perform(.copyEnd(failure: "the sender failed"), shielded: true)
      throw error
    }
    return try await link.perform(.copyEnd(failure: nil)).affected
  }
}
