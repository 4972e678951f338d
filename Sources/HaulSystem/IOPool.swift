import Glibc
import Synchronization

/// A pool of threads for blocking work, such as file writes, syncs and digests of files.
///
/// The threads end when the last reference to the pool is dropped and all submitted work has run.
package final class IOPool: Sendable {
  private let queue = IOQueue()

  /// Creates a pool with this number of threads.
  ///
  /// - Throws: an error if the system cannot create a thread.
  package init(threads: Int) throws(SystemError) {
    precondition(threads > 0, "a pool needs at least 1 thread")
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

  /// Runs `body` on one of the threads. Work starts in the order in which it was submitted.
  package func submit(_ body: @escaping @Sendable () -> Void) {
    queue.append(body)
  }

  /// Runs `body` on one of the threads and returns its result. `body` runs to its end even if the task is cancelled.
  package func run<Value: Sendable, Failure: Error>(
    _ body: @escaping @Sendable () throws(Failure) -> Value
  ) async throws(Failure) -> Value {
    let result = await withCheckedContinuation { continuation in
      submit { continuation.resume(returning: Result(catching: body)) }
    }
    return try result.get()
  }
}

/// A first-in, first-out queue. A thread that finds no work sleeps.
///
/// Until the queue is closed, at most one thread is waking up at any time. That thread wakes the next one if more work is waiting. Waking a thread costs
/// more than many pieces of work, and threads that are awake often take the work first.
private final class IOQueue: Sendable {
  private struct State {
    /// The submitted work. An entry is nil once it has begun, so that the work is freed when it has run.
    var waiting: [(@Sendable () -> Void)?] = []
    /// The index of the first entry that has not begun.
    var head = 0
    /// The number of threads that sleep and have not been woken yet.
    var sleeping = 0
    /// Whether a thread has been woken and has not asked for work yet.
    var isWaking = false
    var isClosed = false

    /// Returns whether to wake a thread. That thread then no longer counts as sleeping.
    mutating func wakesOne() -> Bool {
      guard head < waiting.count, sleeping > 0, !isWaking else { return false }
      sleeping -= 1
      isWaking = true
      return true
    }

    /// Returns the next action of a thread. A thread that gets `sleep` counts as sleeping from now on.
    mutating func next() -> Next {
      guard head < waiting.count, let first = waiting[head] else {
        guard !isClosed else { return .end }
        sleeping += 1
        return .sleep
      }
      waiting[head] = nil
      head += 1
      // At least half of the entries have begun and are nil. Removing them moves at most one entry for each entry removed.
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

  /// Lets the threads end when no work is waiting.
  func close() {
    let sleeping = state.withLock { state in
      state.isClosed = true
      defer { state.sleeping = 0 }
      return state.sleeping
    }
    for _ in 0..<sleeping { signal.post() }
  }

  /// Runs work until the queue is closed and empty. Each thread calls this once.
  func work() {
    var wasWoken = false
    while true {
      let (next, wakes) = state.withLock { state in
        if wasWoken { state.isWaking = false }
        return (state.next(), state.wakesOne())
      }
      wasWoken = false
      if wakes { signal.post() }
      switch next {
      case .run(let body): body()
      case .sleep:
        signal.wait()
        wasWoken = true
      case .end: return
      }
    }
  }
}

/// A semaphore of sem_t(3).
///
/// `@unchecked Sendable` is safe because several threads may use a semaphore and its address never changes.
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
