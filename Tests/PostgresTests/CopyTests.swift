import Postgres
import TestSupport
import Testing

@Suite struct CopyTests {
  private struct SourceFailed: Error {}

  /// Lines `1\tword 1` and so on in chunks of 1,000; `end` closes the stream.
  private func lines(
    _ count: Int, end: (AsyncThrowingStream<[UInt8], any Error>.Continuation) -> Void
  ) -> AsyncThrowingStream<[UInt8], any Error> {
    AsyncThrowingStream { stream in
      for start in stride(from: 1, through: count, by: 1_000) {
        let lines = (start..<min(start + 1_000, count + 1)).map { "\($0)\tword \($0)\n" }
        stream.yield(Array(lines.joined().utf8))
      }
      end(stream)
    }
  }

  @Test func `a hundred thousand rows are copied`() async throws {
    let connection = try await TestServer.connect()
    let table = try await TestServer.makeTable(on: connection)
    let copied = try await connection.copyIn(
      "COPY \(table) FROM STDIN", lines(100_000) { $0.finish() })
    #expect(copied == 100_000)
    let row = try await connection.query(
      "SELECT count(*), sum(id), count(DISTINCT word) FROM \(table)")[0]
    #expect(try row.decode(0) == 100_000)
    #expect(try row.decode(1) == 5_000_050_000)
    #expect(try row.decode(2) == 100_000)
  }

  @Test func `a source that fails leaves nothing`() async throws {
    let connection = try await TestServer.connect()
    let table = try await TestServer.makeTable(on: connection)
    await #expect(throws: SourceFailed.self) {
      try await connection.copyIn(
        "COPY \(table) FROM STDIN", lines(5_000) { $0.finish(throwing: SourceFailed()) })
    }
    #expect(try await TestServer.count(table, on: connection) == 0)
  }

  /// The server stops before it has read anything that follows the statement.
  @Test func `a copy that is cancelled at its beginning leaves the connection in step`()
    async throws
  {
    let connection = try await TestServer.connect()
    let observer = try await TestServer.connect()
    let table = try await TestServer.makeTable(on: connection)
    try await connection.script(
      """
      CREATE FUNCTION \(table)_waits() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN PERFORM pg_sleep(60); RETURN NULL; END';
      CREATE TRIGGER waits BEFORE INSERT ON \(table) FOR EACH STATEMENT EXECUTE FUNCTION \(table)_waits()
      """)
    for _ in 1...30 {
      let copying = Task {
        try await connection.copyIn("COPY \(table) FROM STDIN", lines(100_000) { _ in })
      }
      try await eventually("the trigger's sleep") {
        try await observer.query(
          "SELECT wait_event FROM pg_stat_activity WHERE pid = $1", [connection.backendPID])[0]
          .decode(0, as: String?.self) == "PgSleep"
      }
      copying.cancel()
      await #expect(throws: CancellationError.self) { try await copying.value }
      for number in 1...3 {
        #expect(try await connection.query("SELECT \(number)").first?.decode(0) == number)
      }
    }
    #expect(try await TestServer.count(table, on: connection) == 0)
  }

  @Test func `a cancelled copy leaves nothing`() async throws {
    let connection = try await TestServer.connect()
    let observer = try await TestServer.connect()
    let table = try await TestServer.makeTable(on: connection)
    let endless = lines(5_000) { _ in }
    let copying = Task { try await connection.copyIn("COPY \(table) FROM STDIN", endless) }
    try await TestServer.wait(until: connection.backendPID, isActive: true, on: observer)
    copying.cancel()
    await #expect(throws: CancellationError.self) { try await copying.value }
    #expect(try await TestServer.count(table, on: connection) == 0)
  }

  @Test func `a row the server refuses fails the copy with its code`() async throws {
    let connection = try await TestServer.connect()
    let table = try await TestServer.makeTable(on: connection)
    try await connection.execute("INSERT INTO \(table) VALUES (4000)")
    let error = await #expect(throws: PostgresError.self) {
      try await connection.copyIn("COPY \(table) FROM STDIN", lines(50_000) { $0.finish() })
    }
    #expect(error?.sqlState == .uniqueViolation)
    #expect(try await TestServer.count(table, on: connection) == 1)
  }

  @Test func `a copy within a transaction is rolled back with it`() async throws {
    let connection = try await TestServer.connect()
    let table = try await TestServer.makeTable(on: connection)
    let source = lines(2_000) { $0.finish() }
    await #expect(throws: SourceFailed.self) {
      try await connection.transaction { transaction in
        #expect(try await transaction.copyIn("COPY \(table) FROM STDIN", source) == 2_000)
        throw SourceFailed()
      }
    }
    #expect(try await TestServer.count(table, on: connection) == 0)
  }

  @Test func `copying is not mixed up with queries`() async throws {
    let connection = try await TestServer.connect()
    let table = try await TestServer.makeTable(on: connection)
    await #expect(throws: PostgresError.self) {
      try await connection.query("COPY \(table) FROM STDIN")
    }
    await #expect(throws: PostgresError.misuse("copyIn needs a COPY … FROM STDIN")) {
      try await connection.copyIn("SELECT 1", lines(10) { $0.finish() })
    }
    #expect(try await TestServer.count(table, on: connection) == 0)
    await #expect(throws: PostgresError.self) {
      try await connection.query("COPY \(table) TO STDOUT")
    }
    #expect(connection.isLost)
  }
}
