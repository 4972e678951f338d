/// One numbered migration: applied once to each database, by number.
package struct Migration: Sendable {
  /// Grows by one from each to the next.
  package let version: Int
  /// The file's name without number and ending.
  package let name: String
  package let sql: String

  /// A migration of that number.
  package init(version: Int, name: String, sql: String) {
    self.version = version
    self.name = name
    self.sql = sql
  }
}

/// A group of statements applied again whenever its text changes.
package struct Repeatable: Sendable {
  package let name: String
  package let sql: String

  package init(name: String, sql: String) {
    self.name = name
    self.sql = sql
  }
}

/// The schema of one version of the program.
package struct Edition: Sendable {
  /// The program's version, such as 0.1.0.
  package var program: String
  /// In the order of their numbers.
  package var migrations: [Migration]
  package var repeatables: [Repeatable]

  /// The newest migration's number.
  package var version: Int { migrations.last?.version ?? 0 }

  /// The same for a pool whose roles begin with `prefix`.
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

/// The database's schema, compiled into the program from the .sql files beside this one.
package enum Schema {
  /// The version of the program that carries it.
  package static let program = "0.1.0"

  /// This program's own.
  package static let edition = Edition(
    program: program, migrations: migrations, repeatables: repeatables)

  /// `Migrations/NNNN_name.sql`, in the order of their numbers. The first one makes a new database; earlier numbers belong
  /// to versions that were never released.
  package static let migrations: [Migration] = files(in: "Migrations").map { path, sql in
    let stem = path.dropFirst("Migrations/".count).dropLast(".sql".count)
    let parts = stem.split(separator: "_", maxSplits: 1)
    return Migration(version: Int(parts[0]) ?? 0, name: String(parts.last ?? ""), sql: sql)
  }

  /// The newest version this program knows.
  package static let version = migrations.last?.version ?? 0

  /// Roles: belongs to the cluster, applied before all else.
  package static let roles = textFiles["Roles/roles.sql"] ?? ""

  /// The schema and its record of what has been applied.
  package static let base = textFiles["Roles/schema.sql"] ?? ""

  /// Functions, views and grants, one group: a new function is open to everyone until the grants at the
  /// end have been applied, so none is ever applied without the others.
  package static let repeatables = [
    Repeatable(
      name: "Functions and views",
      sql: ["Functions", "Views"].flatMap(files).map(\.sql).joined(separator: "\n"))
  ]

  /// What the names of the four roles begin with unless a pool has another prefix; the files are written with it.
  package static let defaultPrefix = "haul"

  /// `sql` with the names of roles as they are in a pool whose roles begin with `prefix`.
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
