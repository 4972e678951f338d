import JobModel
import Postgres

/// What the queue's functions refuse. Trouble with the database itself stays a `PostgresError`.
///
/// A stale token is not an error: such a write changes nothing and the reply says so.
package enum JobQueueError: Error, Sendable, Equatable {
  /// The database has migrations this program does not know.
  case schemaTooNew(database: Int, program: Int)
  /// The database has functions and views of a newer program; nothing was changed.
  case functionsTooNew
  /// Another pool of the server has the roles that a new pool would use; nothing was changed.
  case rolesTaken(prefix: String, by: String)
  /// The pool has roles that begin otherwise; nothing was changed.
  case otherPrefix(String)
  /// The database is older than the first migration that this program has.
  case schemaTooOld(database: Int, first: Int)
  /// The database has no Haul schema, or an older one than this program needs.
  case schemaMissing(database: Int?, program: Int)
  /// The database cannot hold every text, since its encoding is not UTF8.
  case wrongEncoding(database: String, String)
  /// The schema `haul` is not Haul's: it belongs to another role than `admin`.
  case foreignSchema(owner: String, admin: String)
  /// The database no longer serves workers of this version.
  case versionNotServed(String)
  /// The worker's id is unknown or its secret is not its own.
  case unknownWorker(String)
  /// A queue, store, batch, host or job of that name does not exist; `others` where one of them may have been meant.
  case noSuchName(String, hint: String?, others: OtherNames? = nil)
  /// The input contradicts itself or existing jobs. No change was made.
  case refused(String, hint: String?)
  /// A line's path is that of a job, for another URL or where no duplicate may be; nothing was changed.
  case pathTaken(String, hint: String?)
  /// Another session or worker has it now. No change was made.
  case busy(String, hint: String?)

  /// A name that does not exist, and some of its kind that do.
  package struct OtherNames: Sendable, Equatable {
    package let given: String
    package let names: [String]
  }

  /// The queue's reading of a server error, or nil where it is none of the queue's own.
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
      "the database has schema version \(database), this program knows up to \(program): use a newer haul"
    case .functionsTooNew:
      "the database has functions and views of a newer program, and nothing was changed: use a newer haul"
    case .rolesTaken(let prefix, let holder):
      "the roles \(PoolRole.names(prefix)) belong to the pool in \(holder) of this server, and nothing was changed"
    case .otherPrefix(let prefix):
      "the roles of this pool begin with \(prefix)_, and nothing was changed"
    case .schemaTooOld(let database, let first):
      "the database has schema version \(database), but this program can only upgrade version \(first) or newer: create a new database, run 'haul migrate' and submit the jobs again"
    case .schemaMissing(nil, _):
      "the database has no Haul schema: run 'haul migrate' first"
    case .schemaMissing(let database?, let program):
      "the database has schema version \(database), this program needs \(program): run 'haul migrate'"
    case .wrongEncoding(let database, let encoding):
      "the database \(database) has the encoding \(encoding), and Haul needs UTF8: make one with 'createdb --encoding UTF8 --template template0 NAME'"
    case .foreignSchema(let owner, let admin):
      "the schema haul belongs to \(owner), and Haul's belongs to \(admin): give Haul its own database, or, if that schema is unused, let a superuser run ALTER SCHEMA haul OWNER TO \(admin)"
    case .versionNotServed(let message), .unknownWorker(let message): message
    case .noSuchName(let message, let hint, _), .refused(let message, let hint),
      .pathTaken(let message, let hint), .busy(let message, let hint):
      hint.map { "\(message). \($0)" } ?? message
    }
  }
}
