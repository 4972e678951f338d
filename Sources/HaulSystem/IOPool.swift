import Glibc
import Synchronization

/// A few threads that run what blocks: file writes, syncs, reading back for a digest.
///
/// The threads end when the last reference to the pool is dropped and everything submitted has run.
package final class IOPool: Sendable {
  private let queue = IOQueue()

  /// Starts `threads` threads.
  ///
  /// - Throws: where the system gives no more threads.
  package init(threads: Int) throws(SystemError) {
    precondition(threads > 0, "a pool without threads runs nothing")
    let queue = queue
    for _ in 0..<threads {
      guard DetachedThread.start({ queue.work() }) else {
        throw SystemError("pthread_create", nil, EAGAIN)
      }
    }
  }

  deinit {
    queue.close()
  }

  /// Runs `body` on one of the threads, some time after everything submitted before has begun.
  package func submit(_ body: @escaping @Sendable () -> Void) {
    queue.append(body)
  }

  /// Runs `body` on one of the threads and gives what it gives. It runs to its end even if the task
  /// is cancelled.
  package func run<Value: Sendable, Failure: Error>(
    _ body: @escaping @Sendable () throws(Failure) -> Value
  ) async throws(Failure) -> Value {
    let result = await withCheckedContinuation { continuation in
      submit { continuation.resume(returning: Result(catching: body)) }
    }
    return try result.get()
  }
}

/// First in, first out. A thread that finds nothing sleeps, and only a thread that sleeps is woken.
private final class IOQueue: Sendable {
  private struct State {
    /// nil for what has begun: what it holds is let go when it has run.
    var waiting: [(@Sendable () -> Void)?] = []
    /// Index of the first that has not begun.
    var head = 0
    /// Threads that sleep and have not been woken yet.
    var sleeping = 0
    var isClosed = false

    /// Whether a thread is to be woken, which then no longer counts as one that sleeps.
    mutating func wakesOne() -> Bool {
      guard sleeping > 0 else { return false }
      sleeping -= 1
      return true
    }

    /// What a thread does next. A thread that gets `sleep` counts as sleeping from here on.
    mutating func next() -> Next {
      guard head < waiting.count, let first = waiting[head] else {
        guard !isClosed else { return .end }
        sleeping += 1
        return .sleep
      }
      waiting[head] = nil
      head += 1
      // Half of it is gaps: each entry is moved once for each that has begun, at most.
      if head * 2 >= waiting.count {
        waiting.removeFirst(head)
        head = 0
      }
      return .run(first)
    }
  }

  private enum Next {
    case run(@Sendable () -> Void)
    case sleep
    case end
  }

  private let state = Mutex(State())
  private let signal = Semaphore()

  func append(_ body: @escaping @Sendable () -> Void) {
    let wakes = state.withLock { state in
      state.waiting.append(body)
      return state.wakesOne()
    }
    if wakes { signal.post() }
  }

  /// Lets the threads end once nothing waits.
  func close() {
    let sleeping = state.withLock { state in
      state.isClosed = true
      defer { state.sleeping = 0 }
      return state.sleeping
    }
    for _ in 0..<sleeping { signal.post() }
  }

  /// A thread's life.
  func work() {
    while true {
      switch state.withLock({ state in state.next() }) {
      case .run(let body): body()
      case .sleep: signal.wait()
      case .end: return
      }
    }
  }
}

/// sem_t(3).
///
/// `@unchecked Sendable` holds because the semaphore is made to be used from several threads and
/// its address never changes.
@safe private final class Semaphore: @unchecked Sendable {
  private let semaphore = UnsafeMutablePointer<sem_t>.allocate(capacity: 1)

  init() {
    unsafe sem_init(semaphore, 0, 0)
  }

  deinit {
    unsafe sem_destroy(semaphore)
    unsafe semaphore.deallocate()
  }

  func post() {
    unsafe sem_post(semaphore)
  }

  func wait() {
    while unsafe sem_wait(semaphore) != 0 {}
  }
}
