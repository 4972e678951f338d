import Foundation
package import Postgres

/// A database of one test's own on the server that `scripts/with-postgres` started.
package struct TestDatabase: Sendable {
  /// What is in it at the beginning.
  package enum Content: Sendable {
    /// Nothing: a copy of `template0`.
    case empty
    /// Haul's schema at its newest version, as ``prepareTemplate`` makes it.
    case migrated
  }

  package let name: String

  /// For libpq, as a superuser; ` user=…` appended to it makes it another role's.
  package let conninfo: String

  /// The schema of the pool that ``connect(applicationName:)`` leads to.
  package var schema = SchemaName.usual

  fileprivate init(name: String) throws {
    self.init(name: name, server: try Self.server())
  }

  /// A database of the server that the conninfo `server` (key=value form) leads to.
  init(name: String, server: String) {
    self.name = name
    conninfo = "\(server) dbname=\(name)"
  }

  package func connect(applicationName: String = "haul-tests") async throws -> Connection {
    try await Connection.connect(
      ConnectionConfiguration(
        conninfo: conninfo, schema: schema, applicationName: applicationName,
        connectTimeout: .seconds(30)))
  }

  /// The server's conninfo, in libpq's key=value form, where a later key wins over an earlier one.
  private static func server() throws -> String {
    let conninfo = ProcessInfo.processInfo.environment["HAUL_TEST_POSTGRES"] ?? ""
    guard conninfo.contains("="), !conninfo.contains("://") else { throw NoTestServer() }
    return conninfo
  }

  fileprivate static func administer(_ statement: String) async throws {
    let connection = try await TestDatabase(name: "postgres").connect()
    do {
      try await connection.execute(statement)
    } catch {
      await connection.close()
      throw error
    }
    await connection.close()
  }
}

/// There is no server to make test databases on.
package struct NoTestServer: Error, CustomStringConvertible {
  package let description =
    "HAUL_TEST_POSTGRES holds no conninfo in key=value form: run scripts/with-postgres swift test"
}

/// Gives `body` a database of its own, dropped afterwards whoever is still connected to it.
///
/// At most eight tests hold one at a time; the others wait, so that all tests together stay below
/// the server's connections. A second database within `body` counts with the first.
///
/// - Throws: what `body` throws; `PostgresError`; `CancellationError`.
package func withTestDatabase<Result: Sendable>(
  _ content: TestDatabase.Content = .migrated,
  _ body: (TestDatabase) async throws -> Result
) async throws -> Result {
  if DatabaseSlots.isHeld { return try await withDatabase(content, body) }
  try await DatabaseSlots.shared.take()
  defer { DatabaseSlots.shared.giveBack() }
  return try await DatabaseSlots.$isHeld.withValue(true) {
    try await withDatabase(content, body)
  }
}

private func withDatabase<Result: Sendable>(
  _ content: TestDatabase.Content, _ body: (TestDatabase) async throws -> Result
) async throws -> Result {
  let template =
    switch content {
    case .empty: "template0"
    case .migrated: try await TemplateDatabase.shared.name()
    }
  let database = try TestDatabase(name: "haul_test_" + UUID().uuidString.lowercased().prefix(13))
  // Copies files instead of pages, in half the time. The copy includes the server's cache of the catalogs.
  try await TestDatabase.administer(
    "CREATE DATABASE \"\(database.name)\" TEMPLATE \"\(template)\" STRATEGY file_copy")
  let result: Swift.Result<Result, any Error>
  do {
    result = .success(try await body(database))
  } catch {
    result = .failure(error)
  }
  // In a task of its own, which the end of a cancelled test does not cancel.
  try await Task {
    try await TestDatabase.administer("DROP DATABASE \"\(database.name)\" WITH (FORCE)")
  }.value
  return try result.get()
}

/// The database that all others of a test process are copied from, made when the first is wanted.
private actor TemplateDatabase {
  static let shared = TemplateDatabase()

  private var made: Task<String, any Error>?

  func name() async throws -> String {
    if let made { return try await made.value }
    let task = Task { try await Self.make() }
    made = task
    return try await task.value
  }

  /// Nobody may be connected to it while it is copied, so the connection is closed before the end.
  private static func make() async throws -> String {
    let name = "haul_template_\(getpid())"
    try await TestDatabase.administer("DROP DATABASE IF EXISTS \"\(name)\"")
    try await TestDatabase.administer("CREATE DATABASE \"\(name)\" TEMPLATE template0")
    let connection = try await TestDatabase(name: name).connect()
    do {
      try await prepareTemplate(connection)
    } catch {
      await connection.close()
      throw error
    }
    await connection.close()
    try await TestDatabase.administer("ALTER DATABASE \"\(name)\" ALLOW_CONNECTIONS false")
    return name
  }
}

/// Lets eight tests at a time have a database.
private final class DatabaseSlots: Sendable {
  static let shared = DatabaseSlots()
  @TaskLocal static var isHeld = false

  /// Free slots, and who got one of them: taken by the first waiter that sees it.
  private let free = Watched(8)

  func take() async throws {
    while true {
      try await free.first("a free place for a database", within: .seconds(1200)) {
        $0 > 0 ? () : nil
      }
      let isTaken = free.update { free in
        if free == 0 { return false }
        free -= 1
        return true
      }
      if isTaken { return }
    }
  }

  func giveBack() {
    free.update { $0 += 1 }
  }
}
