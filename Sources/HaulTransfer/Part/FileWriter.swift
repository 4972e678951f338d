package import HaulSystem
import Synchronization

/// Writes a download's bytes to its part file. A writer takes buffers in file order, writes them on other threads, and reports
/// when the caller should wait.
///
/// One writer serves one part file, for any number of responses.
package final class FileWriter: Sendable {
  /// Whether the caller may pass on more buffers.
  package enum Pressure: Sendable, Equatable {
    case ready
    /// Enough buffers are waiting. The caller must pass on no more until `whenReady` is called.
    case behind
    /// Writing an earlier buffer failed, and the writer dropped this one. ``sync()`` throws the failure.
    case failed
  }

  /// The reason why the writer has stopped writing. Only the first failure is kept.
  package enum Failure: Error, Sendable, Equatable {
    /// Haul requested some durable bytes again, and the server sent other bytes, so the file on the server has changed.
    case overlapDiffers
    /// Writing or syncing failed. A failed sync may have lost the bytes that were written before the sync.
    case file(TransferError)
  }

  private struct State {
    var outstanding = 0
    var isBehind = false
    var written: ByteRanges
    var failure: Failure?
  }

  /// The running digests, each of the bytes `0..<end`.
  private struct Running {
    var contexts: [DigestContext]
    var end: Int64 = 0
    var isCatchingUp = false

    /// Returns all digests and how many bytes they cover, and removes them. Returns none if no digest uses `algorithm`, or if
    /// they cover more than `length` bytes.
    mutating func taken(
      _ algorithm: DigestAlgorithm, _ length: Int64
    ) -> (contexts: [DigestContext], end: Int64) {
      if end > length { contexts = [] }
      guard contexts.contains(where: { $0.algorithm == algorithm }) else { return ([], 0) }
      defer { contexts = [] }
      return (contexts, end)
    }

    /// Returns the digest for `algorithm` if it covers exactly `length` bytes; otherwise nil. Each digest can be taken only once.
    mutating func finished(_ algorithm: DigestAlgorithm, _ length: Int64) -> [UInt8]? {
      guard end == length, let index = contexts.firstIndex(where: { $0.algorithm == algorithm })
      else { return nil }
      return contexts.remove(at: index).finish()
    }
  }

  /// Opens or creates the file. Called once, on a thread of the pool.
  private let open: @Sendable () throws(TransferError) -> PartFile
  /// The file once it is open. After the initializers, only closures that run on `io` set it.
  private let opened = Mutex<PartFile?>(nil)
  private let pool: IOPool
  private let io: SerialIO
  private let limit: Int
  private let whenReady: @Sendable () -> Void
  private let state: Mutex<State>
  /// The digests. Used on threads of the pool only; the lock is held while a block is digested.
  private let running: Mutex<Running>

  /// Creates a writer. The writer opens the file before the first write.
  ///
  /// - Parameters:
  ///   - opening: creates or opens the file. No other object may write the file.
  ///   - durable: the bytes of the file that are already durable.
  ///   - digests: the digests to compute while bytes arrive. ``catchUp()`` adds the bytes that the disk already has.
  ///   - pool: the threads that write.
  ///   - limit: the number of waiting buffers at which the caller must wait.
  ///   - whenReady: called on a thread of the pool, once after each `.behind`. The call comes when no more than half of `limit`
  ///     buffers are waiting, or after a failure.
  package init(
    opening: @escaping @Sendable () throws(TransferError) -> PartFile, durable: ByteRanges,
    digests: [DigestAlgorithm], pool: IOPool, limit: Int = 4,
    whenReady: @escaping @Sendable () -> Void
  ) {
    precondition(limit > 0)
    open = opening
    self.limit = limit
    self.whenReady = whenReady
    self.pool = pool
    io = SerialIO(pool)
    state = Mutex(State(written: durable))
    // Leave out an algorithm that libcrypto lacks. The later request for the digest reports the error.
    running = Mutex(Running(contexts: digests.compactMap { try? DigestContext($0) }))
  }

  /// Creates a writer for a file that is already open.
  package convenience init(
    _ part: PartFile, durable: ByteRanges, digests: [DigestAlgorithm], pool: IOPool,
    limit: Int = 4, whenReady: @escaping @Sendable () -> Void
  ) {
    self.init(
      opening: { part }, durable: durable, digests: digests, pool: pool, limit: limit,
      whenReady: whenReady)
    opened.withLock { $0 = part }
  }

  /// Queues a buffer to be written at `offset`, and returns immediately. The writer does not write bytes before the file offset
  /// `compareUntil`, but compares these bytes with the bytes on the disk. The writer uses only the first `count` bytes of the
  /// buffer.
  package func write(
    _ buffer: GatherBuffer, at offset: Int64, compareUntil: Int64 = 0, count: Int = .max
  ) -> Pressure {
    let pressure = state.withLock { state -> Pressure in
      guard state.failure == nil else { return .failed }
      state.outstanding += 1
      state.isBehind = state.isBehind || state.outstanding >= limit
      return state.isBehind ? .behind : .ready
    }
    guard pressure != .failed else { return .failed }
    io.submit { self.perform(buffer, at: offset, compareUntil: compareUntil, count: count) }
    return pressure
  }

  /// Drops all waiting buffers, and accepts no more: ``flush()`` fails from now on.
  package func abandon() {
    _ = fail(.file(TransferError(.cancelled, "the download no longer writes this file")))
  }

  /// Waits until all earlier buffers are written.
  ///
  /// - Returns: all written bytes. This call does not make these bytes durable.
  /// - Throws: the first failure of this writer, from this call or from an earlier one.
  package func flush() async throws(Failure) -> ByteRanges {
    // If no buffer is waiting, this needs no thread of the pool.
    if state.withLock({ $0.outstanding == 0 }) { return try written() }
    return try await io.run { () throws(Failure) in try self.written() }
  }

  /// Waits until all earlier buffers are written and durable (fdatasync(2)). Later buffers may be written meanwhile.
  ///
  /// - Returns: all durable bytes, which a checkpoint may name.
  /// - Throws: the first failure of this writer, from this call or from an earlier one.
  package func sync() async throws(Failure) -> ByteRanges {
    let (written, file) = try await io.run { () throws(Failure) in
      (try self.written(), try self.fileOrFailure())
    }
    try await pool.run { () throws(Failure) in
      do throws(TransferError) {
        try file.syncData()
      } catch {
        throw self.fail(.file(error))
      }
    }
    return written
  }

  /// The file if it is open; otherwise nil.
  var openFile: PartFile? { opened.withLock(\.self) }

  /// Returns the part file. Creates the part file if it does not exist, even if no byte arrived.
  package func part() async throws(Failure) -> PartFile {
    // If the file is already open, as it nearly always is, this needs no thread of the pool.
    if let file = opened.withLock({ $0 }), state.withLock({ $0.failure }) == nil { return file }
    return try await io.run { () throws(Failure) in try self.fileOrFailure() }
  }

  private func fileOrFailure() throws(Failure) -> PartFile {
    do throws(TransferError) {
      return try file()
    } catch {
      throw fail(.file(error))
    }
  }

  private func file() throws(TransferError) -> PartFile {
    if let file = opened.withLock({ $0 }) { return file }
    let file = try open()
    opened.withLock { $0 = file }
    return file
  }

  /// Starts to digest the bytes that are already on the disk, block by block, while the rest arrives. Returns immediately. A
  /// second call is not an error.
  package func catchUp() {
    pool.submit { [weak self] in
      let begins = self?.running.withLock { running in
        defer { running.isCatchingUp = true }
        return !running.contexts.isEmpty && !running.isCatchingUp
      }
      if begins ?? false { self?.catchUpByTurns() }
    }
  }

  private func catchUpByTurns() {
    guard catchUpByBlock() else { return }
    pool.submit { [weak self] in self?.catchUpByTurns() }
  }

  /// Adds one block to the digests, and returns whether there may be more blocks. Once the digests include all written bytes,
  /// each write adds its bytes to them.
  private func catchUpByBlock() -> Bool {
    guard let file = opened.withLock({ $0 }) else { return false }
    let written = state.withLock { $0.failure == nil ? $0.written.prefixEnd : 0 }
    return running.withLock { running in
      guard !running.contexts.isEmpty, running.end < written else {
        running.isCatchingUp = false
        return false
      }
      let end = min(written, running.end + 1 << 20)
      guard (try? file.add(running.end..<end, to: running.contexts, while: { true })) != nil else {
        // If the bytes cannot be read, the later request for the digest reports the error.
        running.contexts = []
        return false
      }
      running.end = end
      return true
    }
  }

  /// Returns the digest of the first `length` bytes.
  ///
  /// If some bytes did not pass through this writer in sequence, the writer reads these bytes back from the disk, once for all
  /// of its digests. The writer reads the whole file for an algorithm that is not among its digests, and on a second call for
  /// the same algorithm.
  ///
  /// - Parameter isWanted: called before each block that is read. If this function returns false, the computation ends.
  /// - Throws: `io` if reading or writing fails; `digest` if libcrypto lacks the algorithm; `cancelled` if `isWanted` returned
  ///   false.
  package func digest(
    _ algorithm: DigestAlgorithm, length: Int64,
    while isWanted: @escaping @Sendable () -> Bool = { true }
  ) async throws(TransferError) -> [UInt8] {
    // If all bytes came through this writer, as they nearly always do, this needs no thread of the pool.
    if state.withLock({ $0.outstanding == 0 }),
      let digest = running.withLockIfAvailable({ $0.finished(algorithm, length) }).flatMap(\.self)
    {
      return digest
    }
    return try await io.run { () throws(TransferError) in
      let (known, end) = self.running.withLock { running in running.taken(algorithm, length) }
      let context =
        if let own = known.first(where: { $0.algorithm == algorithm }) { own } else {
          try DigestContext(algorithm)
        }
      try self.file().add(end..<length, to: known.isEmpty ? [context] : known, while: isWanted)
      let others = known.filter { $0.algorithm != algorithm }
      if !others.isEmpty {
        self.running.withLock { $0 = Running(contexts: others, end: length) }
      }
      return context.finish()
    }
  }

  private func written() throws(Failure) -> ByteRanges {
    let (written, failure) = state.withLock { ($0.written, $0.failure) }
    if let failure { throw failure }
    return written
  }

  /// Stores `failure` if it is the first, and returns the first failure.
  private func fail(_ failure: Failure) -> Failure {
    state.withLock { state in
      let first = state.failure ?? failure
      state.failure = first
      return first
    }
  }

  private func perform(
    _ buffer: GatherBuffer, at offset: Int64, compareUntil: Int64, count: Int
  ) {
    if state.withLock({ $0.failure == nil }) {
      let failure = unsafe buffer.withBytes { bytes -> Failure? in
        do throws(Failure) {
          let wanted = unsafe UnsafeRawBufferPointer(rebasing: bytes.prefix(count))
          try unsafe put(wanted, at: offset, compareUntil: compareUntil)
          return nil
        } catch {
          return error
        }
      }
      if let failure { _ = fail(failure) }
    }
    let ready = state.withLock { state in
      state.outstanding -= 1
      let ready = state.isBehind && (state.outstanding <= limit / 2 || state.failure != nil)
      if ready { state.isBehind = false }
      return ready
    }
    if ready { whenReady() }
  }

  private func put(
    _ bytes: UnsafeRawBufferPointer, at offset: Int64, compareUntil: Int64
  ) throws(Failure) {
    let known = Int(max(0, min(compareUntil - offset, Int64(bytes.count))))
    let overlap = unsafe UnsafeRawBufferPointer(rebasing: bytes[..<known])
    let fresh = unsafe UnsafeRawBufferPointer(rebasing: bytes[known...])
    let holds: Bool
    do throws(TransferError) {
      let part = try file()
      holds = try unsafe part.holds(overlap, at: offset)
      if holds { try unsafe part.write(fresh, at: offset + Int64(known)) }
    } catch {
      throw .file(error)
    }
    if !holds { throw .overlapDiffers }
    let end = offset + Int64(bytes.count)
    state.withLock { $0.written.insert(offset..<end) }
    unsafe addToDigest(bytes, at: offset)
  }

  /// Updates the digests with the bytes that they do not cover yet.
  private func addToDigest(_ bytes: UnsafeRawBufferPointer, at offset: Int64) {
    running.withLock { running in
      let end = offset + Int64(bytes.count)
      guard !running.contexts.isEmpty, offset <= running.end, running.end < end else { return }
      let next = Int(running.end - offset)
      for context in running.contexts {
        unsafe context.update(UnsafeRawBufferPointer(rebasing: bytes[next...]))
      }
      running.end = end
    }
  }
}
