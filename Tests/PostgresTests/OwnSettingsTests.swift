import TestSupport
import Testing

@testable import Postgres

/// What a session is, whatever the administrator has set for its role.
@Suite struct OwnSettingsTests {
  @Test func `limits and isolation are the session's own, read-only stays the administrator's`()
    async throws
  {
    let observer = try await TestServer.connect()
    let role = "settings_role_\(observer.backendPID)"
    try await observer.execute("CREATE ROLE \(role) LOGIN")
    for setting in [
      "statement_timeout = '11s'", "lock_timeout = '11s'", "idle_session_timeout = '11s'",
      "idle_in_transaction_session_timeout = '11s'",
      "default_transaction_isolation = 'repeatable read'", "default_transaction_read_only = on",
    ] {
      try await observer.execute("ALTER ROLE \(role) SET \(setting)")
    }
    let connection = try await Connection.connect(TestServer.configuration("user=\(role)"))
    for (name, value) in [
      ("statement_timeout", "0"), ("lock_timeout", "0"), ("idle_session_timeout", "0"),
      ("idle_in_transaction_session_timeout", "0"),
      ("default_transaction_isolation", "read committed"),
      ("transaction_isolation", "read committed"), ("default_transaction_read_only", "on"),
    ] {
      let rows = try await connection.query("SELECT current_setting($1)", [name])
      #expect(try rows[0].decode(0, as: String.self) == value, "\(name)")
    }
    await connection.close()
    try await observer.execute("DROP ROLE \(role)")
    await observer.close()
  }
}
