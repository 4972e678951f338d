import HaulSystem
import Synchronization

/// A connection that is made again whenever it is lost.
///
/// The session connects when it is first needed and then stays connected until `close()`. Call `close()`: the session
/// keeps itself alive until then. It never repeats a call by itself, because it cannot know whether a lost call took
/// effect.
package final class Session: Sendable {
  /// For logs and for those who must know how long a connection was away.
  package enum Event: Sendable {
    /// Connected, and `onConnect` has returned; `again` after a connection that was lost.
    case connected(backendPID: Int32, again: Bool)
    case lost(PostgresError)
    /// There is no connection, because of `error`; the next attempt is `after` from now. Reported once, and again
    /// when the reason is another or 30 s have passed.
    case retrying(after: Duration, error: any Error)
  }

  /// What a listener gets.
  package enum Message: Sendable, Equatable {
    case notification(Notification)
    /// The connection is a new one: whatever was sent in between was missed.
    case renewed
  }

  /// A connection that lived longer than this resets the growing waits.
  private static let longestWait = Duration.seconds(2)

  private struct State {
    /// One that was made already; nil once it is used.
    var first: Connection?
    var connection: Connection?
    var waiting: [Promise<Connection>] = []
    /// Keeps the session connected; nil before the first need and after a refused first attempt.
    var keeper: Task<Void, Never>?
    var hasConnected = false
    /// Since when there is a connection, or none after one that was lost; nil before the first.
    var since: ContinuousClock.Instant?
    var isClosed = false
  }

  /// What arrives on the channels `onConnect` listens to, over all connections, for one reader; ends
  /// with `close()`. At most 1,000 are kept for a reader that does not come, the newest.
  package let notifications: AsyncStream<Message>

  private let notificationsInput: AsyncStream<Message>.Continuation
  private let configuration: ConnectionConfiguration
  private let onConnect: @Sendable (Connection) async throws -> Void
  private let observe: @Sendable (Event) -> Void
  private let state: Mutex<State>

  /// - Parameters:
  ///   - configuration: of every connection.
  ///   - first: a connection with this configuration, which is the session's from now on and the first that it uses.
  ///   - onConnect: prepares each new connection (LISTEN, locks) before any caller gets it; when it
  ///     throws, that connection is closed and counts as not made.
  ///   - observe: gets all events in their order; must not block.
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

  /// Runs `body`, once, with the live connection, waiting for one as long as it takes.
  ///
  /// Before the session has ever been connected, an error that will not pass by waiting (wrong
  /// password, no such database, no permission, any error of `onConnect` that is not
  /// `PostgresError.isTransient`) is thrown at once. Later it only shows in the events, and is
  /// retried. An answer that the server only reads ends the connection of a session that writes: the next may lead to
  /// another server. Also throws what `body` throws, `CancellationError`, and `connectionLost` after `close()`.
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

  /// Ends the session and its connection. Calls under way throw `connectionLost`.
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

  /// For how long there has been a connection; nil while there is none.
  package var timeConnected: Duration? {
    state.withLock { $0.connection == nil ? nil : $0.since?.duration(to: .now) }
  }

  /// For how long there has been no connection after one that was lost; nil while there is one.
  package var timeLost: Duration? {
    state.withLock { $0.connection == nil ? $0.since?.duration(to: .now) : nil }
  }

  /// Whether ``close()`` was called: nothing will be answered any more.
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
      // Those that were cancelled meanwhile have settled themselves.
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
      // Throws only when cancelled, which ends the loop.
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

  /// Hands the connection to all who wait. Returns false if the session was closed meanwhile.
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

  /// Returns when the connection is lost, and why it was.
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

  /// Fails all who wait, if this was the first connection and waiting will not help it.
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
