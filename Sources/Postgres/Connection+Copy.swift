import HaulSystem

extension Connection {
  /// Sends rows with `COPY … FROM STDIN`, and returns the number of stored rows.
  ///
  /// The COPY stores all rows or none. The COPY fails if `chunks` throws or the task is cancelled. If the server refuses a row,
  /// the function throws only after it has sent all chunks. The time-out applies to each chunk and to the end of the COPY.
  /// Chunks are pieces of COPY's text or CSV format and may be cut anywhere. Chunks of a few tens of KiB work best.
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
      // The sequences of a cancelled task end early. This must not look like the end of the data.
      try Task.checkCancellation()
    } catch {
      // This call asks the server to fail the COPY, so its error is expected.
      _ = try? await link.perform(.copyEnd(failure: "the sender failed"), shielded: true)
      throw error
    }
    return try await link.perform(.copyEnd(failure: nil)).affected
  }
}
