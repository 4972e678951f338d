import JobModel
package import Postgres

/// An error of the queue's SQL functions. Errors of the database itself stay `PostgresError`.
///
/// A write with the token of an ended lease is not an error: the write changes nothing, and the reply says so.
package enum JobQueueError: Error, Sendable, Equatable {
  /// The database has migrations that this program does not know.
  case schemaTooNew(database: Int, program: Int)
  /// The database has functions and views from a newer program. Nothing was changed.
  case functionsTooNew
  /// Another pool on the server already uses the role names that the new pool would get. Nothing was changed.
  case rolesTaken(prefix: String, by: String)
  /// The roles that a new pool with a schema of its own would get exist already. Nothing was changed.
  case rolesExist(prefix: String)
  /// The caller asked for a prefix, but the role names of the pool have another prefix. The associated value is the prefix of
  /// the role names. Nothing was changed.
  case otherPrefix(String)
  /// The schema version of the database is older than the first migration of this program.
  case schemaTooOld(database: Int, first: Int)
  /// The database has no Haul schema, or an older version than this program requires.
  case schemaMissing(database: Int?, program: Int, schema: SchemaName = .usual)
  /// The database cannot store every text because its encoding is not UTF8.
  case wrongEncoding(database: String, String)
  /// The schema does not belong to Haul, because its owner is not the role `admin`.
  case foreignSchema(_ schema: SchemaName, owner: String, admin: String)
  /// The database no longer supports workers of this version.
  case versionNotServed(String)
  /// The worker's id is unknown, or its secret is wrong.
  case unknownWorker(String)
  /// No queue, store, batch, host or job has this name. `others` are similar names that exist.
  case noSuchName(String, hint: String?, others: OtherNames? = nil)
  /// The input contradicts itself or existing jobs. Nothing was changed.
  case refused(String, hint: String?)
  /// An existing job has the path of the line but another URL, or the submission allows no duplicates. Nothing was changed.
  case pathTaken(String, hint: String?)
  /// Another session or worker is using the object. Nothing was changed.
  case busy(String, hint: String?)

  /// A name that does not exist, and similar names of the same kind that exist.
  package struct OtherNames: Sendable, Equatable {
    package let given: String
    package let names: [String]
  }

  /// Creates the queue's error for a server error; nil if the server error is not one of the queue's own.
  init?(_ error: PostgresError) {
    guard case .server(let server) = error else { return nil }
    switch server.state.rawValue {
    case "HA001": self = .unknownWorker(server.message)
    case "HA002": self = .versionNotServed(server.message)
    case "HA003": self = .noSuchName(server.message, hint: server.hint)
    case "HA004": self = .refused(server.message, hint: server.hint)
    case "HA007": self = .busy(server.message, hint: server.hint)
    case "HA008": self = .pathTaken(server.message, hint: server.hint)
    default: return nil
    }
  }
}

extension JobQueueError: CustomStringConvertible {
  package var description: String {
    switch self {
    case .schemaTooNew(let database, let program):
      "the database has schema version \(database), but this program knows only versions up to \(program): use a newer Haul version"
    case .functionsTooNew:
      "the database has functions and views of a newer program, and nothing was changed: use a newer Haul version"
    case .rolesTaken(let prefix, let holder):
      "the roles \(PoolRole.names(prefix)) belong to the pool in \(holder) of this server, and nothing was changed"
    case .rolesExist(let prefix):
      "some of the roles \(PoolRole.names(prefix)) exist already and have logins, and nothing was changed"
    case .otherPrefix(let prefix):
      "the role names of this pool begin with \(prefix)_, and nothing was changed"
    case .schemaTooOld(let database, let first):
      "the database has schema version \(database), but this program can only upgrade version \(first) or newer: create a new database, run 'haul migrate' and submit the jobs again"
    case .schemaMissing(nil, _, .usual):
      "the database has no Haul schema: run 'haul migrate' first"
    case .schemaMissing(nil, _, let schema):
      "the database has no pool in the schema \(schema.name): run 'haul migrate --schema \(schema.name)' first"
    case .schemaMissing(let database?, let program, _):
      "the database has schema version \(database), but this program needs \(program): run 'haul migrate'"
    case .wrongEncoding(let database, let encoding):
      "the database \(database) has the encoding \(encoding), but Haul needs UTF8: create a database with 'createdb --encoding UTF8 --template template0 NAME'"
    case .foreignSchema(let schema, let owner, let admin):
      "the schema \(schema.name) belongs to \(owner), but it must belong to \(admin): give Haul another schema or database. If nothing else uses this schema, a superuser can run ALTER SCHEMA \(schema.name) OWNER TO \(admin)"
    case .versionNotServed(let message), .unknownWorker(let message): message
    case .noSuchName(let message, let hint, _), .refused(let message, let hint),
      .pathTaken(let message, let hint), .busy(let message, let hint):
      hint.map { "\(message). \($0)" } ?? message
    }
  }
}
