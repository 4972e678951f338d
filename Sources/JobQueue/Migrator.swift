import HaulSystem
import JobModel
package import Postgres
package import Schema

/// Migrates a database to this program's schema.
package enum Migrator {
  /// The result of a migration run.
  package struct Report: Sendable, Equatable {
    /// The versions of the migrations that this run applied, in ascending order; empty if the schema was up to date.
    package var applied: [Int] = []
    /// The names of the groups of functions and views that this run replaced because their text had changed.
    package var refreshed: [String] = []
    /// The name of the database.
    package var database = ""
    /// The schema version of the database after the run.
    package var version: Int
  }

  /// Migrates the database: applies missing migrations, which create tables and the functions that use them, in one transaction.
  /// If several runs are concurrent, only one does the work. A migration is safe on a live pool: it waits at most 0.5 seconds for
  /// the lock on a table, because other sessions wait behind it. If it does not get the lock, it tries again a little later.
  ///
  /// Each run locks the table `haul.migration`, so concurrent runs wait for each other. Only the owner of the schema may take
  /// this lock, so no other login can block the runs.
  ///
  /// `edition` is this program's own schema; only tests pass another one. `force` allows replacing newer functions and views.
  /// `roles` is for a new pool; an existing pool keeps its roles.
  ///
  /// - Throws: one of these errors. An up-to-date schema is not an error.
  ///   - `JobQueueError.schemaTooNew` if the database has migrations that this program does not know.
  ///   - `.schemaTooOld` if the database has none of this program's migrations.
  ///   - `.functionsTooNew` if a newer program has replaced this program's functions and views.
  ///   - `.wrongEncoding` and `.foreignSchema` if the database cannot hold Haul's schema.
  ///   - `.rolesTaken` if another pool has the roles, `.otherPrefix` if this pool has other roles.
  ///   - `.busy` if another session, such as a dump, locks a table for longer than a minute. Then nothing is changed.
  package static func migrate(
    _ connection: Connection, edition: Edition = Schema.edition, roles: Roles = Roles(),
    force: Bool = false
  ) async throws -> Report {
    try await connection.requireSession()
    let database: String = try await connection.query("SELECT current_database()")[0].decode(0)
    if try await connection.query("SELECT FROM pg_namespace WHERE nspname = 'haul'").isEmpty {
      try await requireUTF8(connection, database)
    }
    let prefix = try await prefix(connection, roles)
    let edition = edition.naming(prefix)
    try await apply(connection, Schema.naming(prefix, in: Schema.roles))
    // Check this before anything changes, so that a newer schema stays as it is.
    _ = try await asOwner(connection, prefix) { try await present($0, for: edition) }
    try await prepare(connection, prefix)
    return try await patiently {
      try await asOwner(connection, prefix) { connection in
        try await connection.script(
          "SET LOCAL lock_timeout = '60s'; LOCK TABLE haul.migration IN EXCLUSIVE MODE; SET LOCAL lock_timeout = '500ms'"
        )
        var report = try await bring(connection, to: edition, prefix, force: force)
        report.database = database
        return report
      }
    }
  }

  /// Applies missing migrations, and replaces changed functions and views. The caller has locked the table `haul.migration`.
  private static func bring(
    _ connection: Connection, to edition: Edition, _ prefix: String, force: Bool
  ) async throws -> Report {
    let present = try await present(connection, for: edition)
    let migrations = edition.migrations.filter { $0.version > present ?? 0 }
    var groups: [(group: Repeatable, standing: Standing)] = []
    for group in edition.repeatables {
      let standing = try await standing(of: group, edition.program, connection)
      if standing == .newer, !force { throw JobQueueError.functionsTooNew }
      if standing != .same { groups.append((group, standing)) }
    }
    if !migrations.isEmpty || !groups.isEmpty {
      try await connection.script(Schema.naming(prefix, in: lockViews))
    }
    for migration in migrations { try await apply(migration, connection) }
    for (group, standing) in groups {
      try await apply(group, of: edition.program, over: standing, connection)
    }
    return Report(
      applied: migrations.map(\.version), refreshed: groups.map(\.group.name),
      version: edition.version)
  }

  /// Returns the version of the database; nil if there is no schema. Throws if this program cannot upgrade it to `edition`.
  private static func present(_ connection: Connection, for edition: Edition) async throws -> Int? {
    let (first, last) = (edition.migrations.first?.version ?? 0, edition.version)
    let present = try await version(connection)
    if let present {
      if present > last { throw JobQueueError.schemaTooNew(database: present, program: last) }
      if present < first { throw JobQueueError.schemaTooOld(database: present, first: first) }
    }
    return present
  }

  /// Creates the schema and the tables that record what was applied. If another run does so at the same time, one of the errors
  /// below is thrown after that run has committed. The next attempt then finds the tables.
  private static func prepare(_ connection: Connection, _ prefix: String) async throws {
    let met = ["23505", "42P06", "42P07", "42701", "XX000"].map(SQLState.init(rawValue:))
    for _ in 1..<20 {
      do {
        return try await apply(connection, Schema.naming(prefix, in: Schema.base))
      } catch let error as PostgresError where error.sqlState.map(met.contains) ?? false {}
    }
    try await apply(connection, Schema.naming(prefix, in: Schema.base))
  }

  /// Compares the database with this program, as the owner of its schema. Changes nothing, so it also works on a standby.
  /// Returns nil if there is no schema.
  /// - Throws: an error if the login is no member of the owner, or if a newer schema no longer supports this program.
  package static func check(_ connection: Connection) async throws -> Bool? {
    let queue = JobQueue(connection)
    guard let present = try await queue.servedVersion() else { return nil }
    guard present == Schema.version else {
      if present > Schema.version { try await queue.requireSchema() }
      return present > Schema.version
    }
    let prefix = try await RolePrefix.present(connection) ?? Schema.defaultPrefix
    return try await asOwner(connection, prefix) { try await isCurrent($0) }
  }

  /// Returns whether the database has this program's schema, or a newer schema that still supports this program. In that case,
  /// ``migrate(_:edition:force:)`` need not run. The query takes no lock, and needs the rights of the schema's owner.
  package static func isCurrent(_ connection: Connection) async throws -> Bool {
    guard let present = try await version(connection), present >= Schema.version else {
      return false
    }
    if present > Schema.version { return true }
    let prefix = try await RolePrefix.present(connection) ?? Schema.defaultPrefix
    for group in Schema.edition.naming(prefix).repeatables
    where try await standing(of: group, Schema.program, connection) == .older { return false }
    return true
  }

  /// The result of comparing a group in the database with the group in a program.
  private enum Standing: Equatable {
    case same, older
    /// The group comes from a newer program, or from a program that has replaced this program's group.
    case newer
  }

  private static func standing(
    of group: Repeatable, _ program: String, _ connection: Connection
  ) async throws -> Standing {
    // If an older program migrated the database, the last two columns do not exist.
    let rows = try await connection.query(
      """
      SELECT r.digest = md5($2), coalesce(to_jsonb(r) -> 'superseded' ? md5($2), false), to_jsonb(r) ->> 'program'
      FROM haul.repeatable r WHERE r.name = $1
      """, [group.name, group.sql])
    guard let row = rows.first else { return .older }
    if try row.decode(0, as: Bool.self) { return .same }
    if try row.decode(1, as: Bool.self) { return .newer }
    let other = try row.decode(2, as: String?.self)
    return other.map { isVersion($0, after: program) } == true ? .newer : .older
  }

  /// Compares the numbers of two versions such as 0.9.0 and 0.10.0.
  private static func isVersion(_ one: String, after other: String) -> Bool {
    func numbers(_ version: String) -> [Int] {
      version.split(separator: ".").map { Int($0.prefix { $0.isNumber }) ?? 0 }
    }
    return numbers(other).lexicographicallyPrecedes(numbers(one))
  }

  /// Requires the encoding UTF8: other encodings cannot store every text, or cut texts in the middle of a character. A schema
  /// that already exists in such a database is still upgraded.
  private static func requireUTF8(_ connection: Connection, _ database: String) async throws {
    let encoding: String = try await connection.query(
      "SELECT current_setting('server_encoding')")[0].decode(0)
    if encoding != "UTF8" {
      throw JobQueueError.wrongEncoding(database: database, encoding)
    }
  }

  /// Runs `body` in a transaction with the owner's role. A login that is only a member of that role needs this.
  private static func asOwner<Result: Sendable>(
    _ connection: Connection, _ prefix: String,
    _ body: @Sendable (Connection) async throws -> Result
  ) async throws -> Result {
    try await connection.transaction { connection in
      try await connection.script("\(ownNamesOnly); SET LOCAL ROLE \(PoolRole.admin.name(prefix))")
      return try await body(connection)
    }
  }

  /// Runs `body`, and repeats it for up to a minute while it does not get a lock in time.
  private static func patiently<Result: Sendable>(
    _ body: @Sendable () async throws -> Result
  ) async throws -> Result {
    let end = ContinuousClock.now + .seconds(60)
    while true {
      do { return try await body() } catch let error as PostgresError
        where error.sqlState == .lockNotAvailable
      {
        guard ContinuousClock.now < end else {
          throw JobQueueError.busy(
            "another session, such as a dump, has locked a table of Haul for a minute. Nothing was changed",
            hint: "Try again when that session has ended.")
        }
        // Sessions that waited for this one continue meanwhile.
        try await Task.sleep(for: .seconds(1))
      }
    }
  }

  private static func apply(_ migration: Migration, _ connection: Connection) async throws {
    try await connection.script(
      """
      INSERT INTO haul.migration (version, name) VALUES (\(migration.version), '\(migration.name)');
      \(migration.sql)
      """)
  }

  /// Replaces a group of functions or views. If the replaced group is older, records its digest, so that an older program does
  /// not put it back. If the replaced group is newer, its digest is not recorded, because the newer program may put it back.
  private static func apply(
    _ group: Repeatable, of program: String, over standing: Standing, _ connection: Connection
  ) async throws {
    try await connection.script(group.sql)
    try await connection.execute(
      """
      INSERT INTO haul.repeatable AS r (name, digest, program) VALUES ($1, md5($2), $3)
      ON CONFLICT (name) DO UPDATE SET digest = excluded.digest, program = excluded.program,
        applied_at = clock_timestamp(), superseded = array_remove(
          CASE WHEN $4 THEN r.superseded ELSE r.superseded || r.digest END, excluded.digest)
      """, [group.name, group.sql, program, standing == .newer])
  }

  /// Returns the version of the newest applied migration; nil if Haul's schema is missing.
  package static func version(_ connection: Connection) async throws -> Int? {
    let there = try await connection.query("SELECT to_regclass('haul.migration') IS NOT NULL")
    guard try there[0].decode(0, as: Bool.self) else { return nil }
    return try await connection.query("SELECT max(version) FROM haul.migration")[0].decode(0)
  }

  /// Locks views before tables, and each view before the views that it reads, as readers do. Each ALTER VIEW only serves to
  /// take the lock: the view already has the owner that the statement sets.
  private static let lockViews = """
    DO $$ DECLARE v regclass; BEGIN
      FOR v IN
        WITH RECURSIVE view AS (
          SELECT c.oid FROM pg_class c WHERE c.relnamespace = 'haul'::regnamespace AND c.relkind = 'v'
        ), reads AS (
          SELECT DISTINCT r.ev_class AS view, d.refobjid AS other FROM pg_rewrite r
          JOIN pg_depend d ON d.classid = 'pg_rewrite'::regclass AND d.objid = r.oid AND d.refclassid = 'pg_class'::regclass
          WHERE d.refobjid <> r.ev_class AND r.ev_class IN (SELECT oid FROM view) AND d.refobjid IN (SELECT oid FROM view)
        ), placed AS (
          SELECT oid, 0 AS depth FROM view UNION SELECT r.other, p.depth + 1 FROM placed p JOIN reads r ON r.view = p.oid
        )
        SELECT p.oid FROM placed p GROUP BY p.oid ORDER BY max(p.depth), p.oid
      LOOP EXECUTE format('ALTER VIEW %s OWNER TO haul_admin', v); END LOOP;
    END $$
    """

  private static func apply(_ connection: Connection, _ sql: String) async throws {
    try await connection.transaction { try await $0.script("\(ownNamesOnly); \(sql)") }
  }

  /// With this search path, names in views and functions refer to PostgreSQL's own objects and not to objects in the schema
  /// `public`.
  private static let ownNamesOnly = "SET LOCAL search_path = pg_catalog, pg_temp"
}
