import Synchronization

/// A buffer that collects body bytes for the disk. It has one owner at a time.
///
/// The engine appends bytes, then gives the buffer to a ``BodySink`` and does not use it again. The memory returns to its pool
/// when the last reference is dropped, on any thread.
///
/// `@unchecked Sendable` is safe because `count` and the memory change only in ``append(_:)``. The engine calls this function
/// only before it gives the buffer away.
@safe package final class GatherBuffer: @unchecked Sendable {
  /// The number of bytes collected so far.
  package private(set) var count = 0
  /// The maximum number of bytes in the buffer.
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

  /// The number of bytes that still fit.
  var room: Int { capacity - count }

  /// Appends `bytes`. The caller must check ``room`` first.
  func append(_ bytes: UnsafeRawBufferPointer) {
    guard let source = bytes.baseAddress else { return }
    precondition(bytes.count <= room)
    unsafe (block.start + count).copyMemory(from: source, byteCount: bytes.count)
    count += bytes.count
  }

  /// Calls `body` with the collected bytes. The pointer is valid only during the call.
  package func withBytes<Result>(
    _ body: (UnsafeRawBufferPointer) throws -> Result
  ) rethrows -> Result {
    try unsafe body(UnsafeRawBufferPointer(start: block.start, count: count))
  }
}

/// A pool with a limited number of buffers of the same size, allocated when first needed and kept for the pool's life.
///
/// When all buffers are in use, exchanges (requests with their responses) pause until a ``BodySink`` returns a buffer. Memory
/// use thus stays bounded even if the disk is slow. A share is the group of exchanges that write to the same disk. One disk
/// that hangs must not take all buffers. A share therefore gets another buffer only while it holds fewer than twice as many
/// buffers as are free (dynamic thresholds: Choudhury and Hahne, IEEE/ACM Transactions on Networking 6(2), 1998). A share that
/// holds no buffer always gets one.
package final class BufferPool: Sendable {
  private struct State {
    var free: [Block] = []
    /// The number of buffers in use: `out` in total, `held` for each share.
    var out = 0
    var held: [ObjectIdentifier?: Int] = [:]
    /// The shares that have asked for a buffer in vain and still cannot get one.
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

  /// Creates a pool without buffers.
  ///
  /// - Parameters:
  ///   - capacity: the size of a buffer in bytes.
  ///   - limit: the maximum number of buffers. A share without a buffer gets one even if the limit is reached.
  ///   - whenFreed: called once after ``take(for:)`` has returned nil for a share, when this share may take a buffer again. The
  ///     function runs on the thread that returned a buffer to the pool.
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

  /// Returns an empty buffer, or nil if the share is not allowed another buffer now.
  ///
  /// - Parameter share: the key of the share. Exchanges that may hang at the same time, such as those that write to one disk,
  ///   have the same key.
  package func take(for share: ObjectIdentifier? = nil) -> GatherBuffer? {
    let block: Block? = state.withLock { state in
      guard state.has(for: share, of: limit) else {
        state.missed.insert(share)
        return nil
      }
      state.held[share, default: 0] += 1
      state.out += 1
      // Take the buffer used last, since its pages are in the caches.
      return unsafe state.free.popLast()
        ?? Block(start: .allocate(byteCount: capacity, alignment: 4096))
    }
    return block.map { GatherBuffer($0, capacity: capacity, pool: self, share: share) }
  }

  /// Returns whether ``take(for:)`` would return a buffer. If not, the pool later calls `whenFreed`, as after a failed
  /// ``take(for:)``.
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

/// Memory of a pool. `@unchecked Sendable` is safe because either the pool or one buffer owns it.
@safe private struct Block: @unchecked Sendable {
  let start: UnsafeMutableRawPointer
}
