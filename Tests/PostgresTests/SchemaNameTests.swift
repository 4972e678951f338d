import Postgres
import TestSupport
import Testing

/// A pool's schema may have another name than `haul`.
struct SchemaNameTests {
  @Test(arguments: ["haul", "films", "a", "p_2", String(repeating: "x", count: 40)])
  func `a name without quotes is accepted`(name: String) {
    #expect(SchemaName(name)?.name == name)
  }

  @Test(arguments: [
    "", "Films", "2films", "_films", "fil-ms", "filmé", "pg_films", "public", "user", "a.b", "a b",
    "a\"b", String(repeating: "x", count: 41),
  ])
  func `any other is not`(name: String) {
    #expect(SchemaName(name) == nil)
  }

  @Test func `no word that the server reserves is accepted`() async throws {
    try await withTestDatabase(.empty) { database in
      let connection = try await database.connect()
      let words = try await connection.query(
        "SELECT word FROM pg_get_keywords() WHERE quote_ident(word) <> word")
      #expect(words.count > 100)
      for row in words {
        let word: String = try row.decode(0)
        #expect(SchemaName(word) == nil, "\(word)")
      }
    }
  }

  @Test(arguments: [
    (
      "SELECT haul.work($1) FROM haul.job, (haul.host)",
      "SELECT films.work($1) FROM films.job, (films.host)"
    ),
    ("to_regprocedure('haul.work()')", "to_regprocedure('films.work()')"),
    ("pg_notify('haul', 'queues:all')", "pg_notify('films', 'queues:all')"),
    ("LISTEN \"haul\"", "LISTEN \"films\""),
    ("SET search_path = pg_catalog, haul, pg_temp", "SET search_path = pg_catalog, films, pg_temp"),
    ("CREATE SCHEMA haul AUTHORIZATION haul_admin", "CREATE SCHEMA films AUTHORIZATION haul_admin"),
    ("GRANT USAGE ON SCHEMA haul", "GRANT USAGE ON SCHEMA films"),
    ("haul.a", "films.a"),
  ])
  func `statements name the schema`(sql: String, expected: String) {
    #expect(SchemaName("films")?.replacing(in: sql) == expected)
    #expect(SchemaName.usual.replacing(in: sql) == sql)
  }

  @Test(arguments: [
    "RAISE WARNING 'haul: a job fails'", "HINT = 'See ''haul hosts''.'", "xhaul.a", "haul_worker.x",
    "SET ROLE haul_admin", "'ha' || 'ul'", "a, haul, b", "", "hau", "SCHEMA hauler",
  ])
  func `nothing else changes`(sql: String) {
    #expect(SchemaName("films")?.replacing(in: sql) == sql)
  }
}
