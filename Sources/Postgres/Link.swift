import HaulSystem
import Synchronization

/// A request to a connection's thread.
final class Operation: Sendable {
  enum Request: Sendable {
    case query(String, [String?])
    case script(String)
    case copyStart(String)
    case copyData([UInt8])
    case copyEnd(failure: String?)

    /// Returns the request with the schema's name in its SQL.
    func naming(_ schema: SchemaName) -> Request {
      if schema == .usual { return self }
      return switch self {
      case .query(let sql, let parameters): .query(schema.replacing(in: sql), parameters)
      case .script(let sql): .script(schema.replacing(in: sql))
      case .copyStart(let sql): .copyStart(schema.replacing(in: sql))
      case .copyData, .copyEnd: self
      }
    }
  }

  let request: Request
  let timeout: Duration
  let promise = Promise<Rows>()
  /// Whether the task no longer wants the result. The task sets it once.
  let isCancelled = Atomic(false)

  init(_ request: Request, timeout: Duration) {
    self.request = request
    self.timeout = timeout
  }
}

/// The state that a connection's thread shares with the tasks that use it.
final class Link: Sendable {
  private struct State {
    var next: Operation?
    var database = ""
    var isStandby = false
    var isClosing = false
    /// The reason for closing; nil if the program closed the link.
    var closingReason: PostgresError?
    /// The reason why the thread has ended; nil while it runs.
    var end: PostgresError?
    var closers: [Promise<Void>] = []
  }

  let wakeUp: EventDescriptor
  let notifications: AsyncStream<Notification>
  let notificationsInput: AsyncStream<Notification>.Continuation
  let queryTimeout: Duration
  /// The schema that statements mean by `haul`.
  let schema: SchemaName
  private let state = Mutex(State())

  init(queryTimeout: Duration, schema: SchemaName = .usual) throws(PostgresError) {
    do throws(SystemError) {
      wakeUp = try EventDescriptor()
    } catch {
      throw .connecting(nil, "\(error)")
    }
    self.queryTimeout = queryTimeout
    self.schema = schema
    (notifications, notificationsInput) = AsyncStream.makeStream(
      bufferingPolicy: .bufferingNewest(1_000))
  }

  /// The database and its server, as in ``Connection/database``. It is set once, before the first operation.
  var database: String {
    get { state.withLock { $0.database } }
    set { state.withLock { $0.database = newValue } }
  }
  /// Whether the server is a standby, as in ``Connection/isStandby``. It is set once, before the first operation.
  var isStandby: Bool {
    get { state.withLock { $0.isStandby } }
    set { state.withLock { $0.isStandby = newValue } }
  }
  /// The reason why the connection has ended; nil while it lives.
  var endReason: PostgresError? { state.withLock { $0.end } }
  var isLost: Bool { state.withLock { $0.end != nil || $0.isClosing } }
  var isClosing: Bool { state.withLock { $0.isClosing } }
  /// The error for calls after the link was closed.
  var closingReason: PostgresError {
    state.withLock { $0.closingReason } ?? .connectionLost("this program closed the connection")
  }

  /// Gives an operation to the thread, and waits for the result. Only one caller at a time may do so; `Connection.mutex`
  /// ensures this.
  ///
  /// If `shielded`, the operation continues even if the task is cancelled, for work that must be completed.
  func perform(
    _ request: Operation.Request, timeout: Duration? = nil, shielded: Bool = false
  ) async throws -> Rows {
    let operation = Operation(request.naming(schema), timeout: timeout ?? queryTimeout)
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

  /// Returns the next operation and removes it; nil if there is none. Only the thread calls this.
  func takeNext() -> Operation? {
    state.withLock { state in
      defer { state.next = nil }
      return state.next
    }
  }

  /// Asks the thread to end, whatever it is doing, without waiting for it.
  func requestClose(because reason: PostgresError? = nil) {
    state.withLock { state in
      state.isClosing = true
      state.closingReason = state.closingReason ?? reason
    }
    wakeUp.signal()
  }

  /// Asks the thread to end, and waits until it has ended.
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
    // The promise is only ever settled with success.
    try? await closed.value(onCancel: {})
  }

  /// Records that the thread has ended and fails all waiting operations. The thread calls this last.
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
