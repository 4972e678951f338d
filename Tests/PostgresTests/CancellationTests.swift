import Glibc
import Postgres
import TestSupport
import Testing

@Suite struct CancellationTests {
  @Test func `a cancelled task's statement ends on the server`() async throws {
    let connection = try await TestServer.connect()
    let observer = try await TestServer.connect()
    let sleeping = Task { try await connection.query("SELECT pg_sleep(600)") }
    try await TestServer.wait(until: connection.backendPID, isActive: true, on: observer)
    sleeping.cancel()
    await #expect(throws: CancellationError.self) { try await sleeping.value }
    try await TestServer.wait(until: connection.backendPID, isActive: false, on: observer)
    #expect(try await connection.query("SELECT 1")[0].decode(0) == 1)
  }

  @Test func `a task cancelled while it waits for its turn leaves the queue`() async throws {
    let connection = try await TestServer.connect()
    let observer = try await TestServer.connect()
    let table = try await TestServer.makeTable(on: connection)
    let first = Task { try await connection.query("SELECT pg_sleep(600)") }
    try await TestServer.wait(until: connection.backendPID, isActive: true, on: observer)
    let second = Task { try await connection.execute("INSERT INTO \(table) VALUES (1)") }
    second.cancel()
    await #expect(throws: CancellationError.self) { try await second.value }
    first.cancel()
    await #expect(throws: CancellationError.self) { try await first.value }
    #expect(try await TestServer.count(table, on: connection) == 0)
  }

  /// The order this forbids: the statement is answered; its cancel request is still on the way; the
  /// next statement starts; the request arrives and hits that.
  @Test func `a late cancellation never hits the next statement`() async throws {
    let connection = try await TestServer.connect()
    var cancelled = 0
    for round in 0..<300 {
      // About as long as the cancellation takes, so that either may come first. The next statement lasts longer, to be hit.
      let racing = Task { try await connection.query("SELECT pg_sleep(0.0005)") }
      for _ in 0..<(round % 100) { await Task.yield() }
      racing.cancel()
      do {
        _ = try await racing.value
      } catch is CancellationError {
        cancelled += 1
      }
      #expect(try await connection.query("SELECT 1 FROM pg_sleep(0.002)").count == 1)
    }
    #expect(cancelled > 0)
  }

  @Test func `a statement over its time is stopped and the connection stays`() async throws {
    let connection = try await TestServer.connect()
    await #expect(throws: PostgresError.timedOut) {
      try await connection.query("SELECT pg_sleep(600)", timeout: .milliseconds(50))
    }
    #expect(!connection.isLost)
    #expect(try await connection.query("SELECT 1")[0].decode(0) == 1)
  }

  @Test func `a server that answers nothing at all loses the connection`() async throws {
    let connection = try await TestServer.connect()
    try #require(kill(connection.backendPID, SIGSTOP) == 0)
    defer { kill(connection.backendPID, SIGCONT) }
    await #expect(throws: PostgresError.timedOut) {
      try await connection.query("SELECT 1", timeout: .milliseconds(50))
    }
    #expect(connection.isLost)
    await #expect(throws: PostgresError.self) { try await connection.query("SELECT 1") }
  }

  @Test func `statement_timeout of the server's is an error of the server's`() async throws {
    let connection = try await TestServer.connect()
    try await connection.execute("SET statement_timeout = 20")
    let error = await #expect(throws: PostgresError.self) {
      try await connection.query("SELECT pg_sleep(600)")
    }
    #expect(error?.sqlState == .queryCanceled)
  }
}
