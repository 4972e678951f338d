import Glibc
import TestSupport
import Testing

@testable import Postgres

/// Several addresses of one database.
@Suite struct SeveralAddressesTests {
  private func connect(_ conninfo: String) async throws {
    try await Connection.connect(
      ConnectionConfiguration(conninfo: conninfo, applicationName: "haul-tests")
    ).close()
  }

  /// 1. The first address is a socket that is not there: the second one serves.
  /// 2. The socket is there, and the second address serves all the same.
  /// 3. The second serves no more: the first one does.
  @Test func `the address that works is tried first the next time`() async throws {
    try await withTestDatabase(.empty) { database in
      let relay = try DatabaseRelay(to: database)
      let port = try #require(relay.conninfo.firstMatch(of: /port=([0-9]+)/)?.1)
      let directory = try TemporaryDirectory()
      let socket = directory.path("socket")
      let conninfo = "\(database.conninfo) host=\(socket),127.0.0.1 port=5432,\(port)"
      try await connect(conninfo)
      #expect(relay.state.value.connections == 1)
      #expect(symlink(try TestServer.host(), socket) == 0)
      for count in 2...3 {
        try await connect(conninfo)
        #expect(relay.state.value.connections == count)
      }
      relay.partition()
      for _ in 0..<2 { try await connect(conninfo) }
      #expect(relay.state.value.connections == 4)
    }
  }
}
