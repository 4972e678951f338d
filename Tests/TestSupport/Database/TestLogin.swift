package import Postgres

/// A role that may log in and is a member of one role, and of nothing else.
package struct TestLogin: Sendable {
  package let name: String
  /// Leads to the test's database as this login.
  package let conninfo: String

  package func connect() async throws -> Connection {
    try await Connection.connect(
      ConnectionConfiguration(
        conninfo: conninfo, applicationName: "haul-tests", connectTimeout: .seconds(30)))
  }
}

extension TestDatabase {
  /// Gives `body` a login of that role, nil for one of none. Afterwards it is dropped with all that it has made here.
  package func withLogin<Result: Sendable>(
    _ role: String?, _ body: (TestLogin) async throws -> Result
  ) async throws -> Result {
    let login = "\(role ?? "stranger")_\(name)"
    let admin = try await connect()
    try await admin.script(
      "CREATE ROLE \"\(login)\" LOGIN \(role.map { "IN ROLE \($0)" } ?? "")")
    let result: Swift.Result<Result, any Error>
    do {
      result = .success(
        try await body(TestLogin(name: login, conninfo: "\(conninfo) user=\(login)")))
    } catch {
      result = .failure(error)
    }
    try await admin.script("DROP OWNED BY \"\(login)\" CASCADE; DROP ROLE \"\(login)\"")
    await admin.close()
    return try result.get()
  }
}
