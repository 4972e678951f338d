import TestSupport
import Testing

@testable import Postgres

@Suite struct SessionTests {
  private func terminate(_ pid: Int32, from observer: Connection) async throws {
    try await observer.execute("SELECT pg_terminate_backend($1)", [pid])
  }

  @Test func `a killed connection fails its call and is made again`() async throws {
    let observer = try await TestServer.connect()
    let prepared = Watched(0)
    let session = Session(
      try TestServer.configuration(), onConnect: { _ in prepared.update { $0 += 1 } })
    let first = try await session.withConnection { $0 }
    let call = Task {
      try await session.withConnection { try await $0.query("SELECT pg_sleep(600)") }
    }
    try await TestServer.wait(until: first.backendPID, isActive: true, on: observer)
    try await terminate(first.backendPID, from: observer)
    let error = await #expect(throws: PostgresError.self) { try await call.value }
    guard case .connectionLost = error else { throw error ?? PostgresError.timedOut }
    #expect(first.isLost)
    let second = try await session.withConnection { connection in
      try await connection.query("SELECT pg_backend_pid()")[0].decode(0, as: Int32.self)
    }
    #expect(second != first.backendPID)
    #expect(prepared.value == 2)
    await session.close()
  }

  @Test func `an idle listener is connected again and told that it missed something`() async throws
  {
    let observer = try await TestServer.connect()
    let channel = "session_\(observer.backendPID)"
    let connected = Watched<[Int32]>([])
    let session = Session(
      try TestServer.configuration(), onConnect: { try await $0.listen(channel) },
      observe: { event in
        if case .connected(let pid, _) = event { connected.update { $0.append(pid) } }
      })
    var messages = session.notifications.makeAsyncIterator()
    let first = try await session.withConnection { $0.backendPID }
    let notify = "SELECT pg_notify($1, $2)"
    try await observer.execute(notify, [channel, "before"])
    let pid = observer.backendPID
    #expect(
      await messages.next()
        == .notification(Notification(channel: channel, payload: "before", backendPID: pid)))
    try await terminate(first, from: observer)
    #expect(await messages.next() == .renewed)
    try await observer.execute(notify, [channel, "after"])
    #expect(
      await messages.next()
        == .notification(Notification(channel: channel, payload: "after", backendPID: pid)))
    #expect(connected.value.count == 2)
    #expect(connected.value.first == first)
    await session.close()
    #expect(await messages.next() == nil)
  }

  @Test func `a refused first connection is thrown at once, again and again`() async throws {
    let session = Session(try TestServer.configuration("user=scram_test password=wrong"))
    for _ in 0..<2 {
      let error = await #expect(throws: PostgresError.self) {
        try await session.withConnection { _ in }
      }
      #expect(error?.sqlState == .invalidPassword)
    }
    await session.close()
  }

  @Test func `a refusal after the first connection is waited out`() async throws {
    let observer = try await TestServer.connect()
    let role = "session_role_\(observer.backendPID)"
    try await observer.execute("CREATE ROLE \(role) LOGIN")
    let refused = Gate("refused")
    let session = Session(
      try TestServer.configuration("user=\(role)"),
      observe: { event in
        if case .retrying(_, let error as PostgresError) = event, error.sqlState != nil {
          refused.open()
        }
      })
    let first = try await session.withConnection { $0.backendPID }
    try await observer.execute("ALTER ROLE \(role) NOLOGIN")
    try await terminate(first, from: observer)
    try await refused.wait()
    try await observer.execute("ALTER ROLE \(role) LOGIN")
    #expect(try await session.withConnection { $0.backendPID } != first)
    await session.close()
    try await observer.execute("DROP ROLE \(role)")
  }

  @Test func `a server that is away is waited for, until cancelled or closed`() async throws {
    let retried = Gate("retried")
    let session = Session(
      try TestServer.configuration("host=/nonexistent"),
      observe: { event in
        if case .retrying = event { retried.open() }
      })
    let cancelled = Task { try await session.withConnection { _ in } }
    let waiting = Task { try await session.withConnection { _ in } }
    try await retried.wait()
    cancelled.cancel()
    await #expect(throws: CancellationError.self) { try await cancelled.value }
    await session.close()
    await #expect(throws: PostgresError.connectionLost("the session was closed")) {
      try await waiting.value
    }
  }
}
