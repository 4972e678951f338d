import Testing

@testable import Postgres

@Suite struct ConnectTests {
  private func error(_ settings: String) async throws -> PostgresError {
    let configuration = try TestServer.configuration(settings)
    let error = await #expect(throws: PostgresError.self) {
      _ = try await Connection.connect(configuration)
    }
    return try #require(error)
  }

  @Test func `a wrong password is told by its code and not repeated`() async throws {
    let error = try await error("user=scram_test password=hunter2")
    #expect(error.sqlState == .invalidPassword)
    #expect(!error.isTransient)
    #expect(!"\(error)".contains("hunter2"))
    #expect(!"\(error)".contains("\n"))
  }

  @Test func `a missing password is a matter of configuration`() async throws {
    let error = try await error("user=scram_test passfile=/nonexistent")
    #expect(error == .configuration("the database demands a password"))
  }

  @Test func `the right password connects`() async throws {
    let connection = try await Connection.connect(
      TestServer.configuration("user=scram_test password=scram_test"))
    #expect(try await connection.query("SELECT current_user")[0].decode(0) == "scram_test")
  }

  @Test func `a database that is not there is told by its code`() async throws {
    let error = try await error("dbname=no_such_database")
    #expect(error.sqlState == .invalidCatalogName)
    #expect(!error.isTransient)
  }

  @Test func `a server that is not there may come`() async throws {
    let error = try await error("host=/nonexistent")
    #expect(error.sqlState == nil)
    #expect(error.isTransient)
  }

  @Test func `an invalid connection string is not quoted`() async throws {
    let error = try await error("password=a hunter2")
    #expect(!error.isTransient)
    #expect(!"\(error)".contains("hunter2"))
    let configuration = try TestServer.configuration("password=hunter2")
    #expect(!String(reflecting: configuration).contains("hunter2"))
  }

  @Test(arguments: [
    ("hots=/tmp dbname=x", "hots"), ("postgresql:///x?ssl_mode=require", "ssl_mode"),
    ("pasword=a", "pasword"),
  ])
  func `an option that libpq does not know is named`(conninfo: String, name: String) {
    #expect(
      throws: PostgresError.configuration(
        "the database's connection string has the option \(name), which libpq does not know; common options are host, port, dbname, user, password, passfile, service and sslmode"
      )
    ) { try Conninfo.parse(conninfo) }
  }

  @Test(arguments: [
    "password=a hunter=2", "passwd=a hunter=2", "postgresql://h/x?password=a&hunter=2",
    "postgresql://u:p@h/x?hunter=2",
  ])
  func `what may be a piece of a password is not named`(conninfo: String) throws {
    let error = #expect(throws: PostgresError.self) { try Conninfo.parse(conninfo) }
    #expect(!"\(try #require(error))".contains("hunter"))
  }

  @Test func `a server that is not there is told by its place`() async throws {
    #expect("\(try await error("host=/nonexistent port=7"))".contains("/nonexistent/.s.PGSQL.7"))
    #expect("\(try await error("host=127.0.0.1 port=1"))".contains(#""127.0.0.1", port 1 "#))
  }

  @Test func `a server that accepts and says nothing is given up`() async throws {
    let server = try SilentServer()
    let configuration = ConnectionConfiguration(
      conninfo: "host=\(server.host) user=x", applicationName: "haul-tests",
      connectTimeout: .milliseconds(50))
    let reason = "the socket \(server.host)/.s.PGSQL.5432 did not answer in time"
    await #expect(throws: PostgresError.connecting(nil, reason)) {
      _ = try await Connection.connect(configuration)
    }
  }

  @Test func `connecting can be cancelled`() async throws {
    let server = try SilentServer()
    let configuration = ConnectionConfiguration(
      conninfo: "host=\(server.host) user=x", applicationName: "haul-tests",
      connectTimeout: .seconds(600))
    let connecting = Task { try await Connection.connect(configuration) }
    connecting.cancel()
    await #expect(throws: CancellationError.self) { _ = try await connecting.value }
  }

  @Test func `a second host is tried when the first is not there`() async throws {
    let connection = try await Connection.connect(
      TestServer.configuration("host=/nonexistent,\(TestServer.host())"))
    #expect(!connection.isLost)
  }
}
