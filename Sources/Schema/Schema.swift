/// A numbered migration of the database schema. Haul applies it once to each database.
package struct Migration: Sendable {
  /// The number of the migration: the number of the previous migration plus one.
  package let version: Int
  /// The name of the migration's file, without its number and extension.
  package let name: String
  package let sql: String

  /// Creates a migration from its number, name and SQL.
  package init(version: Int, name: String, sql: String) {
    self.version = version
    self.name = name
    self.sql = sql
  }
}

/// A group of SQL statements that Haul applies again whenever their text changes.
package struct Repeatable: Sendable {
  package let name: String
  package let sql: String

  package init(name: String, sql: String) {
    self.name = name
    self.sql = sql
  }
}

/// The database schema of one version of the program.
package struct Edition: Sendable {
  /// The program's version, such as 0.1.0.
  package var program: String
  /// The migrations in ascending order of their numbers.
  package var migrations: [Migration]
  package var repeatables: [Repeatable]

  /// The number of the newest migration.
  package var version: Int { migrations.last?.version ?? 0 }

  /// Returns this edition with role names that start with `prefix`.
  package func naming(_ prefix: String) -> Edition {
    var edition = self
    edition.migrations = migrations.map {
      Migration(version: $0.version, name: $0.name, sql: Schema.naming(prefix, in: $0.sql))
    }
    edition.repeatables = repeatables.map {
      Repeatable(name: $0.name, sql: Schema.naming(prefix, in: $0.sql))
    }
    return edition
  }
}

/// The database schema, compiled into the program from the .sql files in this folder.
package enum Schema {
  /// The version of the program that contains this schema.
  package static let program = "0.1.0"

  /// The edition of this program.
  package static let edition = Edition(
    program: program, migrations: migrations, repeatables: repeatables)

  /// The migrations from the files `Migrations/NNNN_name.sql`, in the order of their numbers. The first one creates the tables of
  /// a new database, and later ones change them. Its number is not 1, because lower numbers belonged to versions that were never
  /// released.
  package static let migrations: [Migration] = files(in: "Migrations").map { path, sql in
    let stem = path.dropFirst("Migrations/".count).dropLast(".sql".count)
    let parts = stem.split(separator: "_", maxSplits: 1)
    return Migration(version: Int(parts[0]) ?? 0, name: String(parts.last ?? ""), sql: sql)
  }

  /// The newest schema version that this program knows: the number of the last migration.
  package static let version = migrations.last?.version ?? 0

  /// The SQL that creates the roles. Roles belong to the whole database cluster, not to one database. Haul applies this SQL
  /// first, because the other SQL names the roles.
  package static let roles = textFiles["Roles/roles.sql"] ?? ""

  /// The SQL that creates the schema and the tables that record the applied migrations.
  package static let base = textFiles["Roles/schema.sql"] ?? ""

  /// The functions, views and grants, as one group. A new function is open to everyone until Haul applies the grants at the end
  /// of the group, so Haul always applies all of them together.
  package static let repeatables = [
    Repeatable(
      name: "Functions and views",
      sql: ["Functions", "Views"].flatMap(files).map(\.sql).joined(separator: "\n"))
  ]

  /// The default prefix of the four role names. The SQL files contain this prefix.
  package static let defaultPrefix = "haul"

  /// Returns `sql` with role names that start with `prefix`.
  package static func naming(_ prefix: String, in sql: String) -> String {
    if prefix == defaultPrefix { return sql }
    return sql.replacing(
      /\bhaul_(admin|worker|submitter|monitor)\b/.wordBoundaryKind(.simple)
    ) { "\(prefix)_\($0.1)" }
  }

  private static func files(in folder: String) -> [(path: String, sql: String)] {
    textFiles.filter { $0.key.hasPrefix(folder + "/") }.map { (path: $0.key, sql: $0.value) }
      .sorted { $0.path < $1.path }
  }
}
