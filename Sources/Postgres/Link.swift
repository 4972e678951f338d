import HaulSystem
import Synchronization

/// One thing a connection's thread is to do.
final class Operation: Sendable {
  enum Request: Sendable {
    case query(String, [String?])
    case script(String)
    case copyStart(String)
    case copyData([UInt8])
    case copyEnd(failure: String?)
  }

  let request: Request
  let timeout: Duration
  let promise = Promise<Rows>()
  /// Set once, by the task that no longer wants the result.
  let isCancelled = Atomic(false)

  init(_ request: Request, timeout: Duration) {
    self.request = request
    self.timeout = timeout
  }
}

/// What a connection's thread shares with the tasks that use it.
final class Link: Sendable {
  private struct State {
    var next: Operation?
    var database = ""
    var isClosing = false
    /// Why it is closing, where that is no wish of the program's.
    var closingReason: PostgresError?
    /// Why the thread has ended; nil while it runs.
    var end: PostgresError?
    var closers: [Promise<Void>] = []
  }

  let wakeUp: EventDescriptor
  let notifications: AsyncStream<Notification>
  let notificationsInput: AsyncStream<Notification>.Continuation
  let queryTimeout: Duration
  private let state = Mutex(State())

  init(queryTimeout: Duration) throws(PostgresError) {
    do throws(SystemError) {
      wakeUp = try EventDescriptor()
    } catch {
      throw .connecting(nil, "\(error)")
    }
    self.queryTimeout = queryTimeout
    (notifications, notificationsInput) = AsyncStream.makeStream(
      bufferingPolicy: .bufferingNewest(1_000))
  }

  /// See ``Connection/database``. Set once, before the first operation.
  var database: String {
    get { state.withLock { $0.database } }
    set { state.withLock { $0.database = newValue } }
  }
  /// Why the connection has ended; nil while it has not.
  var endReason: PostgresError? { state.withLock { $0.end } }
  var isLost: Bool { state.withLock { $0.end != nil || $0.isClosing } }
  var isClosing: Bool { state.withLock { $0.isClosing } }
  /// The end of a link that is closing.
  var closingReason: PostgresError {
    state.withLock { $0.closingReason } ?? .connectionLost("closed by this program")
  }

  /// Has the thread do something and waits for it. Only one caller at a time (`Turns`).
  ///
  /// If `shielded`, it continues when the task is cancelled, for work that must be completed.
  func perform(
    _ request: Operation.Request, timeout: Duration? = nil, shielded: Bool = false
  ) async throws -> Rows {
    let operation = Operation(request, timeout: timeout ?? queryTimeout)
    try state.withLock { state throws(PostgresError) in
      if let end = state.end { throw end }
      state.next = operation
    }
    wakeUp.signal()
    return try await operation.promise.value {
      guard !shielded else { return }
      operation.isCancelled.store(true, ordering: .releasing)
      self.wakeUp.signal()
    }
  }

  /// For the thread: the operation handed in since it last asked.
  func takeNext() -> Operation? {
    state.withLock { state in
      defer { state.next = nil }
      return state.next
    }
  }

  /// Asks the thread to end, whatever it does, without waiting for it.
  func requestClose(because reason: PostgresError? = nil) {
    state.withLock { state in
      state.isClosing = true
      state.closingReason = state.closingReason ?? reason
    }
    wakeUp.signal()
  }

  /// Asks the thread to end and waits until it has.
  func close() async {
    let closed = Promise<Void>()
    state.withLock { state in
      state.isClosing = true
      if state.end == nil {
        state.closers.append(closed)
      } else {
        closed.settle(.success(()))
      }
    }
    wakeUp.signal()
    // Only ever settled with success.
    try? await closed.value(onCancel: {})
  }

  /// For the thread, last of all: nothing is served from now on.
  func end(_ error: PostgresError) {
    let (next, closers) = state.withLock { state in
      state.end = error
      defer {
        state.next = nil
        state.closers = []
      }
      return (state.next, state.closers)
    }
    next?.promise.settle(.failure(error))
    for closer in closers { closer.settle(.success(())) }
    notificationsInput.finish()
  }
}
