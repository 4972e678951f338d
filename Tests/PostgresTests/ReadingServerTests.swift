import TestSupport
import Testing

@testable import Postgres

@Suite struct ReadingServerTests {
  @Test func `a server that only reads is no server for a session that writes`() async throws {
    let observer = try await TestServer.connect()
    let role = "reading_role_\(observer.backendPID)"
    try await observer.execute("CREATE ROLE \(role) LOGIN")
    try await observer.execute("ALTER ROLE \(role) SET default_transaction_read_only = on")
    var configuration = try TestServer.configuration("user=\(role)")
    try await Connection.connect(configuration).close()
    configuration.writes = true
    let error = await #expect(throws: PostgresError.self) {
      _ = try await Connection.connect(configuration)
    }
    #expect(error?.sqlState == .readOnlyTransaction)
    #expect(error?.isTransient == true)
    try await observer.execute("DROP ROLE \(role)")
    await observer.close()
  }
}
