import EmbeddedPostgres
import Postgres
import TestSupport
import Testing

/// Which database a command takes that is told of none.
@Suite(.timeLimit(.minutes(3)))
struct EmbeddedDatabaseTests {
  /// Runs the built program with nothing but an embedded cluster's directory in its environment; the
  /// system's own server, where one runs, is refused, whoever it runs as.
  private func haul(
    _ arguments: String..., in directory: String, environment: [String: String] = [:]
  ) async throws -> ChildProcess.Output {
    let unset = [
      "HAUL_DATABASE_URL", "PGHOST", "PGHOSTADDR", "PGPORT", "PGDATABASE", "PGUSER",
    ].map { ($0, "") }
    return try await ChildProcess.run(
      HaulProcess.path, arguments,
      environment: Dictionary(uniqueKeysWithValues: unset)
        .merging(["HAUL_STATE_DIR": directory, "PGREQUIREPEER": "no-such-user"]) { $1 }
        .merging(environment) { $1 })
  }

  @Test func `the embedded one while it runs, unless the environment names another`() async throws {
    let root = try TemporaryDirectory()
    let state = root.path("state")
    let cluster = try await EmbeddedCluster.open(ClusterLocation(directory: state))
    defer { cluster.close() }
    for command in ["jobs", "coordinator"] {
      let none = try await haul(command, in: state)
      #expect(none.exit == .code(69))
      #expect(
        none.standardError == [
          "haul \(command): no pool is running here. Only 'haul get' is running, and each 'haul get' shows its progress in its own "
            + "terminal. Start a pool with 'haul up', or name a database with --database."
        ])
    }
    try await cluster.ensureDatabase("haul")
    let migrated = try await haul("migrate", in: state)
    #expect(migrated.exit == .code(0), "\(migrated.standardError)")
    #expect(try await haul("queues", in: state).exit == .code(0))
    let other = try await haul("queues", in: state, environment: ["PGHOST": "/nonexistent"])
    #expect(other.exit == .code(69))
    #expect(!other.standardError.joined().contains("haul up"))
  }

  /// No command verifies the files of its pool later.
  @Test func `haul get computes no digest that nobody asks for`() async throws {
    let root = try TemporaryDirectory()
    let state = root.path("state")
    let cluster = try await EmbeddedCluster.open(ClusterLocation(directory: state))
    defer { cluster.close() }
    let origin = try OriginServer { request, reply in
      try Representation(seed: 3, length: 5000).answer(request, reply)
    }
    let got = try await haul("get", "-o", root.path("out"), origin.url("/a"), in: state)
    #expect(got.exit == .code(0), "\(got.standardError)")
    let databases = try await connection(cluster, "postgres") {
      try await $0.query(
        "SELECT datname FROM pg_database WHERE NOT datistemplate AND datname <> 'postgres'"
      )
      .map { try $0.decode(0, as: String.self) }
    }
    let digests = try await connection(cluster, try #require(databases.first)) {
      try await $0.query("SELECT state::text, digest FROM haul.jobs").map {
        [try $0.decode(0, as: String?.self), try $0.decode(1, as: String?.self)]
      }
    }
    #expect(databases.count == 1 && digests == [["completed", nil]])
  }

  private func connection<Result: Sendable>(
    _ cluster: EmbeddedCluster, _ database: String, _ body: (Connection) async throws -> Result
  ) async throws -> Result {
    let connection = try await Connection.connect(
      ConnectionConfiguration(
        conninfo: cluster.conninfo(database: database), applicationName: "haul-tests"))
    let result = try await body(connection)
    await connection.close()
    return result
  }

  @Test func `without any the sentence says how to get one`() async throws {
    let root = try TemporaryDirectory()
    let output = try await haul("queues", in: root.path("state"))
    #expect(output.exit == .code(69))
    #expect(
      output.standardError == [
        "haul queues: no pool is running here and no database is named. Start a pool with 'haul up', or name a "
          + "database with --database."
      ])
    #expect(try FileTree.files(below: root.path) == [])
  }
}
