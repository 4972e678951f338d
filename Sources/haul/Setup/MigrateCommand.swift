import Arguments
import JobModel
import JobQueue
import Terminal

struct MigrateCommand: HaulCommand {
  static let name = "migrate"
  static let role: PoolRole? = nil
  static let abstract = "Bring the database to this program's schema."
  static let discussion = """
    Makes the schema haul and its roles in an empty database, and brings an older one up to date. \
    Safe on a live pool, any number of times. Programs of the version before go on. A newer schema is left as it is, and \
    so are newer functions without --force. Gives up after a minute \
    in which somebody, such as a dump, keeps it from its tables. The first run needs a user that may create roles and schemas, and no superuser. \
    A member of \(PoolRole.admin.name(RolePrefix.usual)) can upgrade.

    Roles belong to the whole server. Where another pool has \(PoolRole.names(RolePrefix.usual)), this command \
    stops and changes nothing. --role-prefix films then gives the new pool \(PoolRole.names("films")). \
    With shared roles, logins of each pool could use the other. A pool keeps its roles.
    """
  static let examples = [
    Example("haul migrate", "Migrates the database that PGHOST and PGDATABASE name."),
    Example(
      "haul migrate --database postgresql://admin@db.example.org/haul",
      "Migrates the one that a URI names."),
  ]
  static let options: [Option<Self>] =
    [
      .value(
        "role-prefix", "<name>", \.rolePrefix,
        "What the names of a new pool's roles begin with (default: \(RolePrefix.usual))."),
      .flag(
        "share-roles", \.sharesRoles,
        "Use the roles of another pool. Logins of each pool can then use the other."),
      .flag(
        "force", \.isForced,
        "Replace functions and views of a newer haul with those of this one."),
    ] + group(\.output) + group(\.database)

  var rolePrefix: RolePrefixName?
  var sharesRoles = false
  var isForced = false
  var output = OutputOptions()
  var database = DatabaseOptions()

  func perform() async throws {
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
        ? "the schema of \(report.database) is up to date, at version \(report.version)"
        : "the schema of \(report.database) is at version \(report.version) now")
  }
}
