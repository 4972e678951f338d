import Arguments
import Foundation
import Reports
import TestSupport
import Testing

@testable import Postgres

/// One table of what errors of the database mean.
struct DatabaseErrorTableTests {
  private static func server(_ state: String) -> PostgresError {
    .server(
      .init(
        state: SQLState(rawValue: state), message: "m", detail: nil, hint: nil, constraint: nil))
  }

  private static func connecting(_ state: String?, _ text: String = "m") -> PostgresError {
    .connecting(state.map { SQLState(rawValue: $0) }, text)
  }

  private static let socket =
    #"connection to server on socket "/run/postgresql/.s.PGSQL.5432" failed: FATAL: role "root" does not exist"#

  @Test(arguments: [
    (server("25006"), ExitCode.tryAgain, "Connect to the primary, or name all servers"),
    (connecting("25006"), .tryAgain, "Connect to the primary, or name all servers"),
    (server("0A000"), .configuration, "If it is a standby, connect to the primary."),
    (server("57014"), .tryAgain, "not to a pooler"),
    (server("57P01"), .tryAgain, "Try again."),
    (connecting("57P03"), .unavailable, "when the server has started"),
    (server("53100"), .tryAgain, "Free some space on that disk"),
    (server("53200"), .tryAgain, "has details"),
    (connecting("53300"), .unavailable, "raise max_connections"),
    (server("22P05"), .configuration, "Haul needs UTF8"),
    (server("22003"), .badInput, "Nothing was changed."),
    (server("23503"), .badInput, "Nothing was changed."),
    (server("40P01"), .tryAgain, "Try again."),
    (server("55P03"), .tryAgain, "when the other session has ended"),
    (server("58030"), .inputOutput, "the log of the server"),
    (server("XX001"), .inputOutput, "the log of the server"),
    (server("42P01"), .configuration, "Run 'haul migrate'"),
    (server("42883"), .configuration, "Run 'haul migrate'"),
    (server("HA005"), .configuration, "Run 'haul migrate'"),
    (server("42601"), .configuration, "Run 'haul check'"),
    (connecting("42501"), .notPermitted, "this permission"),
    (connecting("3D000"), .configuration, "name of the database"),
    (connecting("28P01"), .configuration, "~/.pgpass"),
    (connecting("28000"), .configuration, "pg_hba.conf"),
    (connecting("28000", socket), .configuration, "runuser -u postgres"),
    (connecting("08006"), .unavailable, "Check that the server runs"),
    (connecting(nil), .unavailable, "Check that the server runs"),
    (
      connecting(nil, "failed: server does not support SSL, but SSL was required"),
      .configuration, "ssl = on"
    ),
    (connecting(nil, "local user with ID 4711 does not exist"), .configuration, "PGUSER"),
    (
      connecting(nil, "failed: SSL error: certificate verify failed"), .configuration,
      "clock of this machine"
    ),
    (
      connecting(nil, "failed: SSL error: sslv3 alert certificate expired"), .unavailable,
      "the clock of the server"
    ),
    (
      connecting(nil, #"could not load private key file "/k": Permission denied"#), .configuration,
      "chmod 640"
    ),
    (
      connecting(nil, #"root certificate file "/k" does not exist"#), .configuration,
      "Check the files and names"
    ),
    (connecting(nil, #"invalid sslmode value: "x""#), .configuration, "Check the files and names"),
    (.noSession, .configuration, "session mode"), (.noTransactions, .configuration, "session mode"),
    (connecting(nil, "query_wait_timeout"), .unavailable, "default_pool_size"),
    (.noPassword, .configuration, "~/.pgpass"),
    (.configuration(#"definition of service "x" not found"#), .configuration, "PGSERVICEFILE"),
    (.configuration("the database's connection string must be"), .configuration, "--database"),
  ])
  func `each error has its way out`(error: PostgresError, code: ExitCode, advice: String) throws {
    let row = try #require(DatabaseErrorTable.row(for: error))
    #expect(row.code == code)
    #expect(row.advice.contains(advice), "\(row.advice)")
  }

  @Test(arguments: [PostgresError.timedOut, .connectionLost("x"), .misuse("x")])
  func `what nobody gave a code for has no row`(error: PostgresError) {
    #expect(DatabaseErrorTable.row(for: error) == nil)
  }

  @Test func `docs/errors.md shows the table`() throws {
    let page = repositoryRoot.appending(path: "docs/errors.md")
    let text = try String(contentsOf: page, encoding: .utf8)
    let section = try #require(text.split(separator: "## Errors of the database\n").last)
    let shown = section.split(separator: "\n").filter { $0.hasPrefix("|") }.dropFirst()
      .map(String.init)
    let rows =
      DatabaseErrorTable.rows + [DatabaseErrorTable.unreachable, DatabaseErrorTable.unexplained]
    #expect(shown.first == "|---|---|---|---|")
    #expect(
      Array(shown.dropFirst())
        == rows.map {
          "| \($0.signs.joined(separator: ", ")) | \($0.cause) | \($0.advice) | \($0.code.rawValue) |"
        })
    for row in rows { #expect(row.cause.hasSuffix(".") && row.advice.hasSuffix(".")) }
  }
}
