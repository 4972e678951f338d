import Arguments
import Testing

@testable import Postgres
@testable import haul

/// What is said to a user that the database does not know.
struct StrangerTests {
  private static let socket =
    #"connection to server on socket "/run/postgresql/.s.PGSQL.5432" failed: FATAL:  28000: role "root" does not exist"#
  private static let network =
    #"connection to server at "db" (::1), port 5432 failed: FATAL:  28000: role "root" does not exist"#

  private func message(_ place: haul.DatabaseOptions.Place, _ text: String) -> String {
    haul.DatabaseOptions.reason(place, .invalidAuthorization, text).message ?? ""
  }

  @Test func `on a local socket whom to be is the advice`() {
    let advice =
      "or run Haul as a user that this PostgreSQL knows, for example with 'runuser -u postgres -- haul …'."
    #expect(
      message(.named("dbname=haul"), Self.socket).hasSuffix(
        " does not exist. Name an existing user with user= in --database, \(advice)"))
    #expect(
      message(.usual, Self.socket).hasSuffix(
        " does not exist. Start a pool with 'haul up', name a database with --database, \(advice)"))
  }

  @Test(arguments: [
    network, socket.replacing(#"role "root" does not exist"#, with: "Peer authentication failed"),
  ])
  func `else pg_hba.conf is`(text: String) {
    #expect(message(.named("host=db"), text).contains("what pg_hba.conf requires"))
  }
}
