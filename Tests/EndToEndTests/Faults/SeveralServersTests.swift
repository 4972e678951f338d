import TestSupport
import Testing

/// Several servers in one connection string, of which the first one hangs.
struct SeveralServersTests {
  /// 1. A command waits for the first server, and goes on with the second. 2. The next command begins with the second one.
  @Test func `the next command does not wait for the server that hung`() async throws {
    try await HaulPool.open { pool in
      let (hung, good) = (
        try DatabaseRelay(to: pool.database), try DatabaseRelay(to: pool.database)
      )
      hung.partition()
      let ports = try [hung, good].map {
        String(try #require($0.conninfo.firstMatch(of: /port=([0-9]+)/)?.1))
      }
      let cache = try TemporaryDirectory()
      let environment = [
        "HAUL_DATABASE_URL":
          "\(pool.database.conninfo) host=127.0.0.1,127.0.0.1 port=\(ports.joined(separator: ","))",
        "XDG_RUNTIME_DIR": cache.path,
      ]
      for round in 1...2 {
        let output = try await HaulProcess(
          ["queues", "--json"], environment: environment, directory: cache.path
        ).child.result()
        #expect(output.exit == .code(0), "\(output.standardError)")
        #expect(hung.state.value.connections == 1)
        #expect(good.state.value.connections == round)
      }
    }
  }
}
