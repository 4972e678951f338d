import Synchronization

/// Body bytes gathered on their way to the disk: one owner at a time.
///
/// The engine appends, then passes the buffer to a ``BodySink`` for good. The memory goes back to its
/// pool when the last reference is dropped, from whatever thread.
///
/// `@unchecked Sendable` holds because `count` and the memory change in ``append(_:)`` only, which the
/// engine calls before it lets the buffer go and never after.
@safe package final class GatherBuffer: @unchecked Sendable {
  /// Bytes gathered so far.
  package private(set) var count = 0
  /// The most bytes it can hold.
  package let capacity: Int
  private let block: Block
  private let pool: BufferPool
  private let share: ObjectIdentifier?

  fileprivate init(
    _ block: Block, capacity: Int, pool: BufferPool, share: ObjectIdentifier?
  ) {
    self.block = block
    self.capacity = capacity
    self.pool = pool
    self.share = share
  }

  deinit {
    pool.giveBack(block, of: share)
  }

  /// Bytes that still fit.
  var room: Int { capacity - count }

  /// Appends `bytes`. The caller has checked ``room``.
  func append(_ bytes: UnsafeRawBufferPointer) {
    guard let source = bytes.baseAddress else { return }
    precondition(bytes.count <= room)
    unsafe (block.start + count).copyMemory(from: source, byteCount: bytes.count)
    count += bytes.count
  }

  /// The gathered bytes, valid during `body`.
  package func withBytes<Result>(
    _ body: (UnsafeRawBufferPointer) throws -> Result
  ) rethrows -> Result {
    try unsafe body(UnsafeRawBufferPointer(start: block.start, count: count))
  }
}

/// A fixed number of equal buffers, made when first needed and kept for the pool's life.
///
/// When all are out, exchanges pause until a sink gives one back: memory stays bounded however slow the
/// disk is. One disk must not have all of them, because it may hang: a share gets at most twice the number that is left
/// (dynamic thresholds: Choudhury and Hahne, IEEE/ACM Transactions on Networking 6(2), 1998), and one that has none always gets
/// one, so that something is left for every other share.
package final class BufferPool: Sendable {
  private struct State {
    var free: [Block] = []
    /// Buffers that are out, in all and by share.
    var out = 0
    var held: [ObjectIdentifier?: Int] = [:]
    /// Shares that have asked in vain, and for which none has come back since.
    var missed: Set<ObjectIdentifier?> = []

    func has(for share: ObjectIdentifier?, of limit: Int) -> Bool {
      let held = held[share, default: 0]
      return held == 0 || held < 2 * (limit - out)
    }
  }

  private let state = Mutex(State())
  private let capacity: Int
  private let limit: Int
  private let whenFreed: @Sendable () -> Void

  /// - Parameters:
  ///   - capacity: bytes a buffer.
  ///   - limit: the maximum number of buffers, besides the one that each share may always have.
  ///   - whenFreed: called once after a failed ``take(for:)``, when one has come back that its share may have, from the
  ///     thread that dropped it. Buffers of a disk that hangs wake no exchange in vain.
  package init(capacity: Int, limit: Int, whenFreed: @escaping @Sendable () -> Void) {
    self.capacity = capacity
    self.limit = limit
    self.whenFreed = whenFreed
  }

  deinit {
    state.withLock { state in
      for block in state.free { unsafe block.start.deallocate() }
    }
  }

  /// An empty buffer, or nil when all are out that the share may have.
  ///
  /// - Parameter share: the key of all exchanges that may hang together.
  package func take(for share: ObjectIdentifier? = nil) -> GatherBuffer? {
    let block: Block? = state.withLock { state in
      guard state.has(for: share, of: limit) else {
        state.missed.insert(share)
        return nil
      }
      state.held[share, default: 0] += 1
      state.out += 1
      // The one used last: its pages are in the caches.
      return unsafe state.free.popLast()
        ?? Block(start: .allocate(byteCount: capacity, alignment: 4096))
    }
    return block.map { GatherBuffer($0, capacity: capacity, pool: self, share: share) }
  }

  /// Whether ``take(for:)`` would give one. If not, `whenFreed` is called as after a failed call.
  func mayTake(for share: ObjectIdentifier?) -> Bool {
    state.withLock { state in
      if state.has(for: share, of: limit) { return true }
      state.missed.insert(share)
      return false
    }
  }

  fileprivate func giveBack(_ block: Block, of share: ObjectIdentifier?) {
    let wanted = state.withLock { state in
      state.free.append(block)
      state.out -= 1
      let held = state.held[share, default: 0] - 1
      state.held[share] = held == 0 ? nil : held
      let waiting = state.missed.count
      state.missed = state.missed.filter { !state.has(for: $0, of: limit) }
      return state.missed.count < waiting
    }
    if wanted { whenFreed() }
  }
}

/// Memory of a pool. `@unchecked Sendable` holds because either the pool or one buffer has it.
@safe private struct Block: @unchecked Sendable {
  let start: UnsafeMutableRawPointer
}
