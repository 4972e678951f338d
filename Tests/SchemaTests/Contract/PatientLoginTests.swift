import JobQueue
import Postgres
import TestSupport
import Testing

/// Which logins `haul check` names: those whose open transactions the server never ends.
struct PatientLoginTests {
  /// On a server of its own, which has no other logins.
  @Test func `a login without a time-out of its own is named, whoever looks`() async throws {
    let server = try await PrivatePostgres()
    let admin = try await server.database.connect()
    _ = try await Migrator.migrate(admin)
    try await admin.script(
      """
      CREATE ROLE one LOGIN IN ROLE haul_submitter; CREATE ROLE two LOGIN IN ROLE haul_worker;
      CREATE ROLE stranger LOGIN;
      """)
    func named(by login: String = "postgres") async throws -> [String] {
      let connection = try await Connection.connect(
        ConnectionConfiguration(
          conninfo: server.database.conninfo.replacing("user=postgres", with: "user=\(login)"),
          applicationName: "haul-tests", connectTimeout: .seconds(30)))
      let logins = try await JobQueue(connection).databaseFacts().patientLogins
      await connection.close()
      return logins
    }
    func set(_ whose: String, _ limit: String) async throws {
      try await admin.execute(
        "ALTER \(whose) SET idle_in_transaction_session_timeout = '\(limit)'")
    }
    // A login does not inherit a role's settings.
    try await set("ROLE haul_submitter", "1min")
    #expect(try await named() == ["one", "two"])
    try await set("ROLE two", "1min")
    #expect(try await named() == ["one"])
    // Its own time-out says nothing of the others.
    #expect(try await named(by: "two") == ["one"])
    try await set("DATABASE postgres", "1min")
    #expect(try await named() == [])
    // What is said of a login goes before what is said of all.
    try await set("ROLE one", "0")
    #expect(try await named() == ["one"])
    try await set("ROLE one IN DATABASE postgres", "30s")
    #expect(try await named() == [])
    await admin.close()
  }
}
