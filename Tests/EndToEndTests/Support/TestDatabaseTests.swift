import Postgres
import TestSupport
import Testing

/// Databases of tests' own: what one does, no other sees.
@Suite struct TestDatabaseTests {
  @Test(arguments: 0..<12)
  func `each test meets an empty database`(number: Int) async throws {
    try await withTestDatabase { database in
      let connection = try await database.connect()
      try await connection.script("CREATE TABLE mark (n integer)")
      try await connection.execute("INSERT INTO mark VALUES ($1)", [number])
      let rows = try await connection.query("SELECT n FROM mark")
      #expect(try rows.map { try $0.decode("n", as: Int.self) } == [number])
    }
  }

  @Test func `a database is gone after the test, even if it fails with connections open`()
    async throws
  {
    struct Failure: Error {}
    let name = Watched("")
    await #expect(throws: Failure.self) {
      try await withTestDatabase(.empty) { database in
        name.update { $0 = database.name }
        let connection = try await database.connect()
        try await connection.script("CREATE TABLE mark (n integer)")
        throw Failure()
      }
    }
    let gone = name.value
    try await withTestDatabase(.empty) { database in
      let connection = try await database.connect()
      let rows = try await connection.query("SELECT FROM pg_database WHERE datname = $1", [gone])
      #expect(!gone.isEmpty && rows.isEmpty)
    }
  }
}
