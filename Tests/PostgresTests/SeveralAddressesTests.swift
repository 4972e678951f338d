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

  /// 1. The first server takes connections and says nothing. 2. The second one answers in its own time. 3. The next process of
  /// this user begins with that one.
  @Test func `a server that hangs costs its time once`() async throws {
    try await withTestDatabase(.empty) { database in
      let silent = try SilentServer()
      let conninfo =
        "\(database.conninfo) host=\(silent.host),\(try TestServer.host()) port=5432,5432"
      let servers = [
        ServerAddress(host: silent.host, hostaddr: nil, port: "5432"),
        ServerAddress(host: try TestServer.host(), hostaddr: nil, port: "5432"),
      ]
      #expect(KnownAddresses.ordered(servers) == servers)
      let connection = try await Connection.connect(
        ConnectionConfiguration(
          conninfo: conninfo, applicationName: "haul-tests", connectTimeout: .seconds(6)))
      await connection.close()
      #expect(KnownAddresses.ordered(servers) == servers.reversed())
    }
  }

  @Test(arguments: [
    ("", nil, nil) as (String, String?, Int?), ("", "7", 7), ("connect_timeout=30", "7", 30),
    ("connect_timeout=1", nil, 2),
    ("connect_timeout=0", nil, nil), ("connect_timeout=-1", nil, nil),
    ("connect_timeout=x", nil, nil), ("postgresql://a/b?connect_timeout=99999", nil, 600),
  ])
  func `the time-out of the string or environment holds for each server`(
    conninfo: String, environment: String?, seconds: Int?
  ) throws {
    let parameters = try Conninfo.parse(conninfo)
    #expect(
      ConnectionConfiguration.timeout(in: parameters, environment: environment)
        == seconds.map { .seconds($0) })
  }

  /// The program's own time-out would let this test wait for ten minutes.
  @Test func `a server that hangs is waited for as long as the string says`() async throws {
    let silent = try SilentServer()
    await #expect(throws: PostgresError.self) {
      _ = try await Connection.connect(
        ConnectionConfiguration(
          conninfo: "host=\(silent.host) user=x dbname=x connect_timeout=2",
          applicationName: "haul-tests", connectTimeout: .seconds(600)))
    }
  }

  @Test func `where no server answers, each says why`() async throws {
    let directory = try TemporaryDirectory()
    let conninfo = "host=\(directory.path)/a,\(directory.path)/b port=5432,5433 user=x dbname=x"
    do {
      try await connect(conninfo)
      Issue.record("connected")
    } catch PostgresError.connecting(nil, let sentence) {
      #expect(
        sentence.contains("/a/.s.PGSQL.5432") && sentence.contains("/b/.s.PGSQL.5433"),
        "\(sentence)")
    }
  }

  @Test(arguments: [
    ("host=a", ["a  5432"], false), ("host=a,b", ["a  5432", "b  5432"], false),
    ("host=a,b port=1,2", ["a  1", "b  2"], false),
    ("hostaddr=1.1.1.1,2.2.2.2 port=7", [" 1.1.1.1 7", " 2.2.2.2 7"], false),
    ("host=a,b hostaddr=1.1.1.1,2.2.2.2", ["a 1.1.1.1 5432", "b 2.2.2.2 5432"], false),
    ("postgresql://a:1,b:2/x?target_session_attrs=prefer-standby", ["a  1", "b  2"], true),
  ])
  func `the servers of a string are read`(
    conninfo: String, lines: [String], isChosenFrom: Bool
  ) throws {
    let list = try ServerList(try Conninfo.parse(conninfo))
    #expect(list.servers.map(\.line) == lines && list.isChosenFrom == isChosenFrom)
  }
}
