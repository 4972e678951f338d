import Postgres
import Testing

/// Values go to the server and come back the same.
@Suite struct ValueTests {
  private func roundTrip<T: PostgresEncodable & PostgresDecodable & Equatable>(
    _ values: [T], as type: String
  ) async throws {
    let connection = try await TestServer.connect()
    for value in values {
      let rows = try await connection.query("SELECT $1::\(type) AS value", [value])
      #expect(try rows[0].decode("value") == value)
      #expect(try rows[0].decode(0) == Optional(value))
    }
    let null = try await connection.query("SELECT $1::\(type) AS value", [nil])
    #expect(try null[0].decode("value", as: T?.self) == nil)
    #expect(throws: PostgresError.self) { try null[0].decode("value", as: T.self) }
  }

  @Test func `integers come back`() async throws {
    try await roundTrip([0, -1, Int.max, Int.min], as: "bigint")
    try await roundTrip([0, -1, Int64.max, Int64.min], as: "bigint")
    try await roundTrip([0, -1, Int32.max, Int32.min], as: "integer")
    try await roundTrip([0, -1, Int16.max, Int16.min], as: "smallint")
  }

  @Test func `numbers and truth values come back`() async throws {
    try await roundTrip(
      [0, -0.1, .pi, .greatestFiniteMagnitude, .leastNonzeroMagnitude, .infinity, -.infinity],
      as: "float8")
    try await roundTrip([true, false], as: "boolean")
    let rows = try await TestServer.connect().query("SELECT $1::float8", [Double.nan])
    #expect(try rows[0].decode(0, as: Double.self).isNaN)
  }

  @Test func `strings and bytes come back`() async throws {
    try await roundTrip(["", "a", "NULL", #"q"uo\te'"#, "{a,b}", "zoë 🧺\n"], as: "text")
    try await roundTrip([[], [0], Array(0...255)] as [[UInt8]], as: "bytea")
  }

  @Test func `arrays come back`() async throws {
    try await roundTrip([[], [1], [Int64.min, 0, Int64.max]] as [[Int64]], as: "bigint[]")
    try await roundTrip([[nil], [1, nil, 3]] as [[Int?]], as: "bigint[]")
    try await roundTrip([[true, false], [false]], as: "boolean[]")
    try await roundTrip([[1.5, .infinity]], as: "float8[]")
    try await roundTrip([[[], [0, 255], [92, 34]]] as [[[UInt8]]], as: "bytea[]")
    try await roundTrip(
      [
        [], [""], ["NULL", "null"], [#"""#, #"\"#, #"\""#, ","], ["{}", "{", "}"], [" a ", "\t"],
        ["zoë", "🧺", "'"],
      ], as: "text[]")
    try await roundTrip([[nil], [nil, "NULL", nil, ""]] as [[String?]], as: "text[]")
  }

  @Test func `an array as the server itself writes it is read`() async throws {
    let connection = try await TestServer.connect()
    let row = try await connection.query(
      #"SELECT '{a,"b c",NULL,"NULL","\"\\"}'::text[] AS a, '{{1,2},{3,4}}'::int[] AS b"#)[0]
    #expect(try row.decode("a") == ["a", "b c", nil, "NULL", #""\"#])
    #expect(throws: PostgresError.self) { try row.decode("b", as: [Int].self) }
    #expect(throws: PostgresError.self) { try row.decode("a", as: [String].self) }
  }

  @Test func `what does not fit is an error that names the column`() async throws {
    let rows = try await TestServer.connect().query("SELECT 40000 AS big, 'x' AS word")
    #expect(throws: PostgresError.decoding(column: "big", "the value is not of the type Int16")) {
      try rows[0].decode("big", as: Int16.self)
    }
    #expect(throws: PostgresError.decoding(column: "word", "the value is not of the type Bool")) {
      try rows[0].decode("word", as: Bool.self)
    }
    #expect(throws: PostgresError.decoding(column: "none", "there is no such column")) {
      try rows[0].decode("none", as: Int.self)
    }
  }

  @Test func `a NUL character is refused, not cut off`() async throws {
    let connection = try await TestServer.connect()
    await #expect(throws: PostgresError.self) {
      try await connection.query("SELECT $1::text", ["a\0b"])
    }
  }
}
