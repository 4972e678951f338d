import FoundationEssentials
package import Postgres
import Schema

/// The queue's SQL functions as typed calls, one method a function.
///
/// A value over one connection. A call that loses a deadlock or a serialization race is repeated here; a call whose connection is lost
/// throws, and whether it took effect is then unknown: `work` may be repeated with its number.
package struct JobQueue: Sendable {
  let connection: Connection
  /// Called before every repetition after 40P01 or 40001.
  let onRetry: @Sendable (SQLState) -> Void

  /// Calls over `connection`.
  package init(
    _ connection: Connection, onRetry: @escaping @Sendable (SQLState) -> Void = { _ in }
  ) {
    self.connection = connection
    self.onRetry = onRetry
  }

  /// See `Connection.database`.
  package var database: String { connection.database }

  /// Has `body` read as of one moment, so that its figures fit each other. It can change nothing.
  package func snapshot<T: Sendable>(
    _ body: @Sendable (JobQueue) async throws -> T
  ) async throws -> T {
    try await connection.snapshot { try await body(JobQueue($0)) }
  }

  /// The schema version that this program carries and needs.
  package static var schemaVersion: Int { Schema.version }

  /// This program's version.
  package static var programVersion: String { Schema.program }

  /// Checks that database and program fit. A newer database may serve older programs.
  /// - Throws: `JobQueueError.schemaTooNew`, `.schemaTooOld` or `.schemaMissing`.
  package func requireSchema() async throws {
    let present = try await servedVersion()
    if let present, present > Schema.version {
      if try await servesThisProgram() { return }
      throw JobQueueError.schemaTooNew(database: present, program: Schema.version)
    }
    if let present, let first = Schema.migrations.first?.version, present < first {
      throw JobQueueError.schemaTooOld(database: present, first: first)
    }
    guard present == Schema.version else {
      throw JobQueueError.schemaMissing(database: present, program: Schema.version)
    }
  }

  /// The newest migration applied, by the function that every role may call; nil where it is missing.
  package func servedVersion() async throws -> Int? {
    let isThere: Bool = try await call(
      "SELECT to_regprocedure('haul.schema_version()') IS NOT NULL", [])
    return isThere ? try await call("SELECT haul.schema_version()", []) : nil
  }

  /// Whether a database with a newer schema serves this program too.
  package func servesThisProgram() async throws -> Bool {
    try await call("SELECT haul.oldest_served_version() <= $1::integer", [Schema.version])
  }

  /// A row of one value.
  func call<T: PostgresDecodable>(
    _ sql: String, _ parameters: [(any PostgresEncodable)?], as type: T.Type = T.self
  ) async throws -> T {
    try await rows(sql, parameters)[0].decode(0)
  }

  /// Runs one statement. Repeats it after a deadlock, and throws the queue's own errors as such.
  @discardableResult
  func rows(_ sql: String, _ parameters: [(any PostgresEncodable)?]) async throws -> Rows {
    var attempt: Int64 = 0
    while true {
      attempt += 1
      do {
        return try await connection.query(sql, parameters)
      } catch let error as PostgresError {
        if let refused = JobQueueError(error) { throw refused }
        // Of a transaction nothing is left to repeat the statement in: it is repeated as a whole.
        guard error.isRetryable, !connection.isTransaction, attempt < 20,
          let state = error.sqlState
        else { throw error }
        onRetry(state)
        try await Task.sleep(for: .milliseconds(Int64.random(in: 1...(10 * attempt))))
      }
    }
  }

  /// Calls a function that returns JSON, as ``call`` does, and decodes its reply.
  func callJSON<T: Decodable>(
    _ sql: String, _ parameters: [(any PostgresEncodable)?], as type: T.Type = T.self
  ) async throws -> T {
    let text: String = try await call(sql, parameters)
    let decoder = JSONDecoder()
    decoder.keyDecodingStrategy = .convertFromSnakeCase
    return try decoder.decode(T.self, from: Data(text.utf8))
  }

  static func json(_ value: some Encodable) throws -> String {
    let encoder = JSONEncoder()
    encoder.keyEncodingStrategy = .convertToSnakeCase
    return String(decoding: try encoder.encode(value), as: UTF8.self)
  }
}
