import Arguments
import JobModel
import JobQueue
import Postgres
import Terminal

struct MigrateCommand: HaulCommand {
  static let name = "migrate"
  static let role: PoolRole? = nil
  static let abstract = "Create or upgrade the database schema."
  static let discussion = """
    In an empty database the command creates a schema and its roles. The schema has the name haul, or the name \
    that --schema gives. The command upgrades an older schema. You can run it at any time on a live pool, and as often as you like. Programs of the previous version continue \
    to work. The command does not touch a newer schema. It replaces newer functions only with --force. If \
    another session, such as a dump, locks the tables for a minute, the command stops and changes nothing. The \
    first run needs a user that may create roles and schemas. The user need not be a superuser. A member of \
    \(PoolRole.admin.name(RolePrefix.usual)) can upgrade the schema.

    The login that ran this command needs no role. Grant one to every other login, such as:

      GRANT haul_worker TO alice

    The roles are:

      haul_monitor    watches the pool
      haul_submitter  also submits, pauses, resumes, cancels and retries jobs
      haul_worker     runs workers and coordinators, and watches the pool
      haul_admin      may do all of this, and manages stores, queues, hosts, workers

    Roles belong to the whole PostgreSQL server. If another pool already uses the roles \
    \(PoolRole.names(RolePrefix.usual)), this command stops and changes nothing. Use --role-prefix films to \
    give the new pool \(PoolRole.names("films")). If two pools share roles, logins of each pool can use the \
    other pool. Later runs do not change the roles of a pool.

    With --schema films, a database that already has a pool gets a second one. Its roles are \
    \(PoolRole.names("films")). Give --schema films, or the environment variable HAUL_SCHEMA, to every \
    command for this pool.
    """
  static let examples = [
    Example("haul migrate", "Migrates the database that PGHOST and PGDATABASE name."),
    Example("haul migrate --check", "Fails if the schema is older than this program."),
    Example(
      "haul migrate --database postgresql://admin@db.example.org/haul",
      "Migrates the database that a URI names."),
  ]
  static let options: [Option<Self>] =
    [
      .value(
        "role-prefix", "<name>", \.rolePrefix,
        "The prefix for the role names of a new pool (default: the name of the schema)."),
      .flag(
        "share-roles", \.sharesRoles,
        "Share the roles of another pool on this server. Logins of either pool can then use both."),
      .flag(
        "force", \.isForced,
        "Replace the functions and views of a newer Haul with the older ones of this program."),
      .flag(
        "check", \.onlyChecks,
        "Change nothing. Exit with 1 if the schema is missing or older than this program. Needs a member of \(PoolRole.admin.name(RolePrefix.usual))."
      ),
    ] + group(\.output) + group(\.database)

  var rolePrefix: RolePrefixName?
  var sharesRoles = false
  var isForced = false
  var onlyChecks = false
  var output = OutputOptions()
  var database = DatabaseOptions()

  func perform() async throws {
    if onlyChecks { return try await check() }
    let report = try await database.writing.inSession.withConnection {
      try await Migrator.migrate(
        $0, roles: .init(prefix: rolePrefix?.argument, mayBeShared: sharesRoles), force: isForced)
    }
    let isDone = report.applied.isEmpty && report.refreshed.isEmpty
    try output.print(
      [
        .init("applied", .array(report.applied.map { .number($0) })),
        .init("refreshed", .array(report.refreshed.map { .string($0) })),
      ],
      orSay: isDone
        ? "the schema \(database.schema.name) of \(report.database) is up to date, at version \(report.version)"
        : "the schema \(database.schema.name) of \(report.database) is now at version \(report.version)"
    )
  }

  /// Compares the schema with this program. Changes nothing, so it also works on a standby.
  private func check() async throws {
    if isForced || sharesRoles || rolePrefix != nil {
      throw ExitError(
        .usage,
        "--check changes nothing, so it does not accept --force, --share-roles and --role-prefix.")
    }
    let isCurrent = try await database.withConnection { try await Migrator.check($0) }
    guard isCurrent == true else {
      let state = isCurrent == nil ? "there is no schema" : "the schema is older than this program"
      throw ExitError(.failed, "\(state). Run: haul migrate")
    }
    try output.print(
      [.init("applied", .array([])), .init("refreshed", .array([]))],
      orSay: "the schema is up to date for this program")
  }
}
