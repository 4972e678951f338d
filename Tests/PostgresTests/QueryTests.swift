import Postgres
import Testing

@Suite struct QueryTests {
  @Test func `columns, rows and affected rows are reported`() async throws {
    let connection = try await TestServer.connect()
    let table = try await TestServer.makeTable(on: connection)
    let inserted = try await connection.execute(
      "INSERT INTO \(table) SELECT n, 'word ' || n FROM generate_series(1, $1) AS n", [1_000])
    #expect(inserted == 1_000)
    let rows = try await connection.query("SELECT id, word FROM \(table) ORDER BY id")
    #expect(rows.columns == ["id", "word"])
    #expect(rows.count == 1_000)
    #expect(try rows.map { try $0.decode("id", as: Int.self) } == Array(1...1_000))
    #expect(try rows.last?.decode("word") == "word 1000")
    #expect(try await connection.query("SELECT 1 WHERE false").isEmpty)
  }

  @Test func `several statements run as a script and not as a query`() async throws {
    let connection = try await TestServer.connect()
    try await connection.script(
      "CREATE TEMPORARY TABLE a (n int); INSERT INTO a VALUES (1); INSERT INTO a VALUES (2)")
    #expect(try await TestServer.count("a", on: connection) == 2)
    await #expect(throws: PostgresError.self) { try await connection.query("SELECT 1; SELECT 2") }
    let error = await #expect(throws: PostgresError.self) {
      try await connection.script(
        "INSERT INTO a VALUES (3); SELECT 1 / 0; INSERT INTO a VALUES (4)")
    }
    #expect(error?.sqlState == SQLState(rawValue: "22012"))
    #expect(try await TestServer.count("a", on: connection) == 2)
  }

  @Test(arguments: [
    ("SELECT no_such_function()", SQLState.undefinedFunction),
    ("SELECT * FROM no_such_table", .undefinedTable),
    (
      "DO $$ BEGIN RAISE EXCEPTION 'no' USING ERRCODE = 'HL001'; END $$",
      SQLState(rawValue: "HL001")
    ),
    ("SET ROLE pg_monitor; RESET ROLE", SQLState(rawValue: "42601")),
  ])
  func `a refused statement carries its code and leaves the connection usable`(
    sql: String, state: SQLState
  ) async throws {
    let connection = try await TestServer.connect()
    let error = await #expect(throws: PostgresError.self) { try await connection.query(sql) }
    #expect(error?.sqlState == state)
    #expect(try await connection.query("SELECT 1")[0].decode(0) == 1)
    #expect(!connection.isLost)
  }

  @Test func `a constraint is named, and values stay out of the description`() async throws {
    let connection = try await TestServer.connect()
    let table = try await TestServer.makeTable(on: connection)
    let insert = "INSERT INTO \(table) VALUES ($1::text::bigint, 'x')"
    try await connection.execute(insert, ["77123"])
    let error = await #expect(throws: PostgresError.self) {
      try await connection.execute(insert, ["77123"])
    }
    guard case .server(let server) = error else { throw error ?? PostgresError.timedOut }
    #expect(server.state == .uniqueViolation)
    #expect(server.constraint == "\(table)_pkey")
    #expect(server.detail?.contains("77123") == true)
    #expect(error.map { "\($0)".contains("77123") } == false)
    let invalid = await #expect(throws: PostgresError.self) {
      try await connection.execute(insert, ["secret"])
    }
    #expect(invalid?.sqlState?.isInClass("22") == true)
    #expect(invalid.map { "\($0)".contains("secret") } == false)
  }

  @Test func `many tasks share a connection, each gets its own answer`() async throws {
    let connection = try await TestServer.connect()
    try await withThrowingTaskGroup { group in
      for number in 0..<500 {
        group.addTask {
          try await connection.query("SELECT $1::int", [number])[0].decode(0) == number
        }
      }
      for try await isOwn in group { #expect(isOwn) }
    }
  }

  @Test func `large values cross whole`() async throws {
    let connection = try await TestServer.connect()
    let bytes = (0..<8_000_000).map { UInt8(truncatingIfNeeded: $0 &* 7) }
    let rows = try await connection.query("SELECT $1::bytea, length($1::bytea)", [bytes])
    #expect(try rows[0].decode(0, as: [UInt8].self) == bytes)
    #expect(try rows[0].decode(1) == bytes.count)
  }

  @Test func `the session speaks UTF-8 and shows its name`() async throws {
    let row = try await TestServer.connect().query(
      "SELECT current_setting('client_encoding'), current_setting('application_name')")[0]
    #expect(try row.decode(0) == "UTF8")
    #expect(try row.decode(1) == "haul-tests")
  }

  @Test func `a closed connection refuses calls`() async throws {
    let connection = try await TestServer.connect()
    let observer = try await TestServer.connect()
    await connection.close()
    await connection.close()
    #expect(connection.isLost)
    await #expect(throws: PostgresError.connectionLost("this program closed the connection")) {
      try await connection.query("SELECT 1")
    }
    let pid = connection.backendPID
    try await TestServer.waitForEnd(of: pid, on: observer)
  }

  @Test func `closing stops the statement that runs`() async throws {
    let connection = try await TestServer.connect()
    let observer = try await TestServer.connect()
    let sleeping = Task { try await connection.query("SELECT pg_sleep(600)") }
    try await TestServer.wait(until: connection.backendPID, isActive: true, on: observer)
    await connection.close()
    await #expect(throws: PostgresError.connectionLost("this program closed the connection")) {
      try await sleeping.value
    }
    try await TestServer.waitForEnd(of: connection.backendPID, on: observer)
  }

  @Test func `a connection nobody refers to is closed`() async throws {
    let observer = try await TestServer.connect()
    let pid = try await TestServer.connect().backendPID
    try await TestServer.waitForEnd(of: pid, on: observer)
  }
}
