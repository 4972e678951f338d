import Foundation
import Glibc
import Postgres
import TestSupport
import Testing

/// What commands say of databases that refuse: how it ends, and the advice.
@Suite struct DatabaseAdviceTests {
  private func expect(
    _ command: String..., on conninfo: String, code: Int32, says words: String
  ) async throws {
    let output = try await ChildProcess.run(
      HaulProcess.path, command, environment: ["HAUL_DATABASE_URL": conninfo])
    #expect(output.exit == .code(code), "\(output)")
    #expect(output.standardError.last?.contains(words) == true, "\(output.standardError)")
  }

  @Test func `a login whose connections are all in use is told so`() async throws {
    try await withTestDatabase { database in
      try await database.withLogin("haul_monitor") { login in
        let admin = try await database.connect()
        try await admin.execute("ALTER ROLE \"\(login.name)\" CONNECTION LIMIT 0")
        try await expect(
          "jobs", on: login.conninfo, code: 69,
          says: "Try again when a connection has ended, or raise max_connections")
        await admin.close()
      }
    }
  }

  @Test func `a database that the environment of libpq names is not said to be an option's`()
    async throws
  {
    let output = try await ChildProcess.run(
      HaulProcess.path, ["jobs"], environment: ["PGHOST": "127.0.0.1", "PGPORT": "1"])
    #expect(output.exit == .code(69), "\(output)")
    let text = output.standardError.joined(separator: " ")
    #expect(
      text.contains("Check that the server runs and that PGHOST or PGPORT names this server."))
    #expect(!text.contains("--database"))
  }

  /// The superuser who migrates acts as haul_admin there.
  @Test func `a schema of somebody else's is left alone, and its owner is named`() async throws {
    // Of which the server has the roles.
    try await withTestDatabase { _ in
      try await withTestDatabase(.empty) { database in
        let admin = try await database.connect()
        try await admin.execute("CREATE SCHEMA haul")
        try await expect(
          "migrate", on: database.conninfo, code: 78,
          says: "the schema haul belongs to postgres, but it must belong to haul_admin")
        try await admin.execute("ALTER SCHEMA haul OWNER TO haul_admin")
        let output = try await ChildProcess.run(
          HaulProcess.path, ["migrate", "--share-roles"],
          environment: ["HAUL_DATABASE_URL": database.conninfo])
        #expect(output.exit == .code(0), "\(output)")
        await admin.close()
      }
    }
  }

  @Test func `a server without TLS is told of`() async throws {
    try await withTestDatabase { database in
      let relay = try DatabaseRelay(to: database)
      try await expect(
        "jobs", on: "\(relay.conninfo) sslmode=require", code: 78, says: "Set 'ssl = on'")
    }
  }

  @Test func `who cancels a command is not said to lack a schema`() async throws {
    try await HaulPool.open { pool in
      try await pool.admin.script("BEGIN; LOCK TABLE haul.queue IN ACCESS EXCLUSIVE MODE")
      let command = try pool.start(["queues"])
      let observer = try await pool.database.connect()
      try await eventually("the command to be cancelled") {
        let cancelled = try await observer.query(
          """
          SELECT pg_cancel_backend(pid) FROM pg_stat_activity
          WHERE datname = current_database() AND application_name = 'haul' AND wait_event_type = 'Lock'
          """)
        return !cancelled.isEmpty
      }
      let output = try await command.child.result()
      #expect(output.exit == .code(75))
      #expect(
        output.standardError.last?.hasSuffix(
          "Connect to PostgreSQL itself, not to a pooler, and try again.") == true)
      try await pool.admin.script("ROLLBACK")
      await observer.close()
    }
  }

  /// As in a container that runs under any number.
  @Test(.enabled("becoming another user takes root") { getuid() == 0 })
  func `a user without a name is told to name one`() async throws {
    try await withTestDatabase { database in
      let relay = try DatabaseRelay(to: database)
      let place = relay.conninfo.replacing(/user=[^ ]+/, with: "")
      let output = try await ChildProcess.run(
        "setpriv",
        ["--reuid", "4711", "--regid", "4711", "--clear-groups", HaulProcess.path, "jobs"],
        environment: ["HAUL_DATABASE_URL": place])
      #expect(output.exit == .code(78), "\(output)")
      #expect(
        output.standardError.last?.contains("Name the database user with user=") == true,
        "\(output.standardError)")
    }
  }

  /// Certificates that count from 2040 on, as all others do for a machine whose clock stands at 1970.
  private static let certificates = """
    set -e
    openssl req -new -x509 -nodes -days 30 -subj /CN=ca -keyout ca.key -out ca.crt
    touch index; echo 01 >serial
    printf '%s\\n' '[ca]' default_ca=d '[d]' database=index serial=serial new_certs_dir=. default_md=sha256 policy=p \\
      '[p]' commonName=supplied >ca.cnf
    for name in localhost postgres; do
      openssl req -new -nodes -subj /CN=$name -keyout $name.key -out $name.csr
      openssl x509 -req -in $name.csr -CA ca.crt -CAkey ca.key -CAcreateserial -days 30 -out $name.now
      openssl ca -batch -config ca.cnf -cert ca.crt -keyfile ca.key -in $name.csr -out $name.late \\
        -startdate 20400101000000Z -enddate 20450101000000Z
    done
    chmod 600 *.key
    """

  @Test(arguments: [
    ("late", "now", Int32(78), "the clock of this machine with 'date'"),
    ("now", "late", 69, "the clock of the server"),
  ])
  func `a certificate whose time has not come is a matter of the clock too`(
    server: String, client: String, code: Int32, advice: String
  ) async throws {
    let place = try TemporaryDirectory()
    let made = try await ChildProcess.run(
      "bash", ["-c", Self.certificates], directory: place.path)
    #expect(made.exit == .code(0), "\(made.standardError)")
    let port = try OriginProgram.freePort()
    let postgres = try await PrivatePostgres(
      port: port,
      settings: """
        ssl = on
        ssl_cert_file = 'localhost.\(server)'
        ssl_key_file = 'localhost.key'
        ssl_ca_file = 'ca.crt'
        """, access: "hostssl all all 127.0.0.1/32 trust clientcert=verify-ca\n",
      files: ["localhost.\(server)", "localhost.key", "ca.crt"].map(place.path))
    try await expect(
      "jobs",
      on: """
        host=localhost hostaddr=127.0.0.1 port=\(port) user=postgres sslmode=verify-full \
        sslrootcert=\(place.path("ca.crt")) sslcert=\(place.path("postgres.\(client)")) sslkey=\(place.path("postgres.key"))
        """, code: code, says: advice)
    _ = postgres
  }
}
