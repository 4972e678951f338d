import HaulSystem
import Synchronization

/// A connection to PostgreSQL that reconnects after each loss.
///
/// The session connects when it is first needed and then stays connected until `close()`. The session keeps itself alive until
/// you call `close()`. The session never repeats a call, because it cannot know whether a lost call took effect.
package final class Session: Sendable {
  /// An event of a session, for logs and for callers that must know how long the connection was lost.
  package enum Event: Sendable {
    /// The session is connected, and `onConnect` has returned. `again` is true if an earlier connection was lost.
    case connected(backendPID: Int32, again: Bool)
    case lost(PostgresError)
    /// The session has no connection because of `error`. The next attempt starts after the time `after`. The event comes once,
    /// and again if the error changes or 30 seconds have passed.
    case retrying(after: Duration, error: any Error)
  }

  /// A message for the reader of ``notifications``.
  package enum Message: Sendable, Equatable {
    case notification(Notification)
    /// The session has a new connection. Notifications between the two connections were missed.
    case renewed
  }

  /// The maximum wait between two attempts. If a connection lived longer than this, the growing waits start again.
  private static let longestWait = Duration.seconds(2)

  private struct State {
    /// A connection that existed before the session; nil once it is used.
    var first: Connection?
    var connection: Connection?
    var waiting: [Promise<Connection>] = []
    /// The task that keeps the session connected; nil before the first use and after a refused first attempt.
    var keeper: Task<Void, Never>?
    var hasConnected = false
    /// The time of the last change: when the connection was made or lost; nil before the first connection.
    var since: ContinuousClock.Instant?
    var isClosed = false
  }

  /// The messages on the channels that `onConnect` listens to, over all connections, for one reader. The stream ends with
  /// `close()`. If no reader takes them, the newest 1,000 messages are kept.
  package let notifications: AsyncStream<Message>

  private let notificationsInput: AsyncStream<Message>.Continuation
  private let configuration: ConnectionConfiguration
  private let onConnect: @Sendable (Connection) async throws -> Void
  private let observe: @Sendable (Event) -> Void
  private let state: Mutex<State>

  /// Creates a session.
  ///
  /// - Parameters:
  ///   - configuration: the configuration of every connection.
  ///   - first: a connection with this configuration. The session takes this connection over and uses it first.
  ///   - onConnect: prepares each new connection (LISTEN, locks) before any caller gets it. If this function throws, the session
  ///     closes the connection and treats the attempt as failed.
  ///   - observe: gets all events in their order. This function must not block.
  package init(
    _ configuration: ConnectionConfiguration, first: Connection? = nil,
    onConnect: @escaping @Sendable (Connection) async throws -> Void = { _ in },
    observe: @escaping @Sendable (Event) -> Void = { _ in }
  ) {
    self.configuration = configuration
    self.onConnect = onConnect
    self.observe = observe
    state = Mutex(State(first: first))
    (notifications, notificationsInput) = AsyncStream.makeStream(
      bufferingPolicy: .bufferingNewest(1_000))
  }

  /// Runs `body` once with the live connection. Waits for a connection as long as necessary.
  ///
  /// Before the first connection, the function immediately throws an error if waiting will not help. Such errors are a wrong
  /// password, a missing database, no permission, or any error of `onConnect` that is not `PostgresError.isTransient`. After
  /// the first connection, such errors appear only in the events, and the session retries. If the configuration requires a
  /// writable server and a statement fails because the server is read-only, the session closes the connection. The next
  /// connection may lead to another server. Also throws the errors of `body`, `CancellationError`, and `connectionLost` after
  /// `close()`.
  package func withConnection<T: Sendable>(
    _ body: @Sendable (Connection) async throws -> T
  ) async throws -> T {
    let connection = try await liveConnection()
    do {
      return try await body(connection)
    } catch let error as PostgresError
      where error.sqlState == .readOnlyTransaction && configuration.writes
    {
      connection.link.requestClose(because: .connectionLost("\(error)"))
      throw error
    }
  }

  /// Ends the session and its connection. Running calls throw `connectionLost`.
  package func close() async {
    let (connection, keeper, waiting) = state.withLock { state in
      state.isClosed = true
      defer { (state.waiting, state.first) = ([], nil) }
      return (state.connection ?? state.first, state.keeper, state.waiting)
    }
    for promise in waiting { promise.settle(.failure(Self.closedError)) }
    keeper?.cancel()
    await connection?.close()
    await keeper?.value
    notificationsInput.finish()
  }

  /// The time since the session connected; nil while it is not connected.
  package var timeConnected: Duration? {
    state.withLock { $0.connection == nil ? nil : $0.since?.duration(to: .now) }
  }

  /// The time since the connection was lost; nil while the session is connected, and before the first connection.
  package var timeLost: Duration? {
    state.withLock { $0.connection == nil ? $0.since?.duration(to: .now) : nil }
  }

  /// Whether ``close()`` was called. The session then serves no more calls.
  package var isClosed: Bool { state.withLock { $0.isClosed } }

  private static let closedError = PostgresError.connectionLost("the session was closed")

  private func liveConnection() async throws -> Connection {
    let promise = Promise<Connection>()
    try state.withLock { state in
      if state.isClosed { throw Self.closedError }
      if let connection = state.connection, !connection.isLost {
        promise.settle(.success(connection))
        return
      }
      // Promises of cancelled callers have settled themselves.
      state.waiting.removeAll(where: \.isSettled)
      state.waiting.append(promise)
      if state.keeper == nil {
        state.keeper = Task { await self.keepConnected() }
      }
    }
    return try await promise.value()
  }

  private func keepConnected() async {
    var backoff = Backoff(first: .milliseconds(50), limit: Self.longestWait)
    var told = MessageThrottle()
    while !Task.isCancelled {
      let start = ContinuousClock.now
      let failure: any Error
      do {
        let connection = try await prepareConnection()
        guard publish(connection) else { return await connection.close() }
        told = MessageThrottle()
        failure = await forwardNotifications(of: connection)
      } catch {
        if giveUp(because: error) { return }
        failure = error
      }
      if Task.isCancelled { return }
      if start.duration(to: .now) > Self.longestWait { backoff.reset() }
      let wait = backoff.next()
      if told.isNews("\(failure)", at: .now) { observe(.retrying(after: wait, error: failure)) }
      // The sleep throws only if the task is cancelled, which ends the loop.
      try? await Task.sleep(for: wait)
    }
  }

  private func prepareConnection() async throws -> Connection {
    let connection = try await nextConnection()
    do {
      try await onConnect(connection)
    } catch {
      await connection.close()
      throw error
    }
    return connection
  }

  private func nextConnection() async throws -> Connection {
    let first = state.withLock { state in
      defer { state.first = nil }
      return state.first
    }
    if let first { return first }
    return try await Connection.connect(configuration)
  }

  /// Gives the connection to all waiting callers. Returns false if the session was closed meanwhile.
  private func publish(_ connection: Connection) -> Bool {
    let (waiting, isFirst) = state.withLock {
      state -> ([Promise<Connection>]?, Bool) in
      if state.isClosed { return (nil, false) }
      let isFirst = !state.hasConnected
      state.connection = connection
      state.hasConnected = true
      state.since = .now
      defer { state.waiting = [] }
      return (state.waiting, isFirst)
    }
    guard let waiting else { return false }
    observe(.connected(backendPID: connection.backendPID, again: !isFirst))
    if !isFirst { notificationsInput.yield(.renewed) }
    for promise in waiting { promise.settle(.success(connection)) }
    return true
  }

  /// Forwards notifications until the connection is lost. Returns the reason.
  private func forwardNotifications(of connection: Connection) async -> PostgresError {
    for await notification in connection.notifications {
      notificationsInput.yield(.notification(notification))
    }
    let isClosed = state.withLock { state in
      state.connection = nil
      state.since = .now
      return state.isClosed
    }
    let reason = connection.link.endReason ?? Self.closedError
    if !isClosed { observe(.lost(reason)) }
    return reason
  }

  /// Fails all waiting callers if this was the first attempt to connect and waiting will not help. Returns whether it did.
  private func giveUp(because error: any Error) -> Bool {
    let waiting = state.withLock { state -> [Promise<Connection>]? in
      if state.hasConnected || (error as? PostgresError)?.isTransient == true { return nil }
      defer { state.waiting = [] }
      state.keeper = nil
      return state.waiting
    }
    guard let waiting else { return false }
    for promise in waiting { promise.settle(.failure(error)) }
    return true
  }
}
