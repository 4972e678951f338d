import Postgres
import TestSupport
import Testing

@Suite struct TransactionTests {
  private struct BodyFailed: Error {}

  @Test func `what a body does is kept, or undone with its error`() async throws {
    let connection = try await TestServer.connect()
    let table = try await TestServer.makeTable(on: connection)
    let level = try await connection.transaction { transaction in
      try await transaction.execute("INSERT INTO \(table) VALUES (1)")
      return try await transaction.query("SHOW transaction_isolation")[0].decode(0, as: String.self)
    }
    #expect(level == "read committed")
    await #expect(throws: BodyFailed.self) {
      try await connection.transaction { transaction in
        try await transaction.execute("INSERT INTO \(table) VALUES (2)")
        throw BodyFailed()
      }
    }
    #expect(try await TestServer.count(table, on: connection) == 1)
  }

  @Test func `transactions that deadlock both finish`() async throws {
    let connections = [try await TestServer.connect(), try await TestServer.connect()]
    let table = try await TestServer.makeTable(on: connections[0])
    try await connections[0].execute("INSERT INTO \(table) VALUES (0, ''), (1, '')")
    let hasLocked = [Gate("first has locked"), Gate("second has locked")]
    // Each locks its own row, then, when both have, the other's. One must be undone and repeated,
    // more than once if it takes its row again before the other has woken up.
    let attempts = try await withThrowingTaskGroup { group in
      for own in 0...1 {
        group.addTask {
          let attempts = Watched(0)
          try await connections[own].transaction { transaction in
            attempts.update { $0 += 1 }
            let append = "UPDATE \(table) SET word = word || $2 WHERE id = $1"
            try await transaction.execute(append, [own, "own"])
            hasLocked[own].open()
            try await hasLocked[1 - own].wait()
            try await transaction.execute(append, [1 - own, "other"])
          }
          return attempts.value
        }
      }
      return try await group.reduce(0, +)
    }
    #expect(attempts >= 3)
    let words = try await connections[0].query("SELECT word FROM \(table)")
    for row in words {
      #expect(["ownother", "otherown"].contains(try row.decode("word", as: String.self)))
    }
  }

  @Test func `retries are bounded`() async throws {
    let connection = try await TestServer.connect()
    let attempts = Watched(0)
    let error = await #expect(throws: PostgresError.self) {
      try await connection.transaction { transaction in
        attempts.update { $0 += 1 }
        try await transaction.execute(
          "DO $$ BEGIN RAISE EXCEPTION 'again' USING ERRCODE = '40001'; END $$")
      }
    }
    #expect(error?.sqlState == .serializationFailure)
    #expect(attempts.value == 8)
  }

  @Test func `other callers wait until a transaction is over`() async throws {
    let connection = try await TestServer.connect()
    let table = try await TestServer.makeTable(on: connection)
    let count = try await connection.transaction { transaction in
      try await transaction.execute("INSERT INTO \(table) VALUES (1)")
      // Without the transaction's task-local value, as if from somewhere else.
      let outside = Task.detached { try await TestServer.count(table, on: connection) }
      try await transaction.execute("INSERT INTO \(table) VALUES (2)")
      return outside
    }
    #expect(try await count.value == 2)
  }

  @Test func `a body cannot wait for itself`() async throws {
    let connection = try await TestServer.connect()
    await #expect(throws: PostgresError.misuse("a transaction cannot contain another transaction"))
    {
      try await connection.transaction { transaction in
        try await transaction.transaction { _ in }
      }
    }
    let ownUse = PostgresError.misuse("a transaction's body must use the connection it is given")
    await #expect(throws: ownUse) {
      try await connection.transaction { _ in try await connection.execute("SELECT 1") }
    }
    let escaped = try await connection.transaction { $0 }
    await #expect(throws: PostgresError.self) { try await escaped.query("SELECT 1") }
    #expect(try await connection.query("SELECT 1")[0].decode(0) == 1)
  }

  @Test func `a hidden error is not taken for a commit`() async throws {
    let connection = try await TestServer.connect()
    let table = try await TestServer.makeTable(on: connection)
    await #expect(throws: PostgresError.self) {
      try await connection.transaction { transaction in
        try await transaction.execute("INSERT INTO \(table) VALUES (1)")
        _ = try? await transaction.query("SELECT 1 / 0")
      }
    }
    #expect(try await TestServer.count(table, on: connection) == 0)
  }

  @Test func `a cancelled transaction is rolled back and frees the connection`() async throws {
    let connection = try await TestServer.connect()
    let table = try await TestServer.makeTable(on: connection)
    let inserted = Gate("inserted")
    let never = Gate("never")
    let task = Task {
      try await connection.transaction { transaction in
        try await transaction.execute("INSERT INTO \(table) VALUES (1)")
        inserted.open()
        try await never.wait()
      }
    }
    try await inserted.wait()
    task.cancel()
    await #expect(throws: CancellationError.self) { try await task.value }
    #expect(try await TestServer.count(table, on: connection) == 0)
  }
}
