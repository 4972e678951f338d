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
    A member of haul_admin can upgrade.
    """
  static let examples = [
    Example("haul migrate", "Migrates the database that PGHOST and PGDATABASE name."),
    Example(
      "haul migrate --database postgresql://admin@db.example.org/haul",
      "Migrates the one that a URI names."),
  ]
  static let options: [Option<Self>] =
    [
      .flag(
        "force", \.isForced,
        "Replace functions and views of a newer haul with those of this one.")
    ] + group(\.output) + group(\.database)

  var isForced = false
  var output = OutputOptions()
  var database = DatabaseOptions()

  func perform() async throws {
    let report = try await database.writing.withConnection {
      try await Migrator.migrate($0, force: isForced)
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
