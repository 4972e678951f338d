import FoundationEssentials
package import Postgres
import Schema

/// The SQL functions of the queue, with one typed method for each function.
///
/// A `JobQueue` uses one connection. It repeats a call that fails because of a deadlock or a serialization conflict. If the
/// connection is lost during a call, the method throws, and it is unknown whether the call took effect. If the call was `work`,
/// you can safely repeat it with the same number.
package struct JobQueue: Sendable {
  let connection: Connection
  /// Called before every repetition after SQLSTATE 40P01 or 40001.
  let onRetry: @Sendable (SQLState) -> Void

  /// Creates a queue that makes its calls over `connection`.
  package init(
    _ connection: Connection, onRetry: @escaping @Sendable (SQLState) -> Void = { _ in }
  ) {
    self.connection = connection
    self.onRetry = onRetry
  }

  /// The database and its server in a form for people, as in `Connection.database`.
  package var database: String { connection.database }

  /// Runs `body` with a queue that reads one snapshot, so that all results of its queries are consistent. `body` cannot change
  /// anything.
  package func snapshot<T: Sendable>(
    _ body: @Sendable (JobQueue) async throws -> T
  ) async throws -> T {
    try await connection.snapshot { try await body(JobQueue($0)) }
  }

  /// The schema version that this program contains and requires.
  package static var schemaVersion: Int { Schema.version }

  /// The version of this program.
  package static var programVersion: String { Schema.program }

  /// Checks that this program can use the database's schema. A newer database may support older programs.
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
      throw JobQueueError.schemaMissing(
        database: present, program: Schema.version, schema: connection.schema)
    }
  }

  /// Returns the version of the newest applied migration; nil if the schema is missing. Every role may call this.
  package func servedVersion() async throws -> Int? {
    let isThere: Bool = try await call(
      "SELECT to_regprocedure('haul.schema_version()') IS NOT NULL", [])
    return isThere ? try await call("SELECT haul.schema_version()", []) : nil
  }

  /// Returns whether a database with a newer schema still supports this program.
  package func servesThisProgram() async throws -> Bool {
    try await call("SELECT haul.oldest_served_version() <= $1::integer", [Schema.version])
  }

  /// Runs a statement, and returns the first value of its first row.
  func call<T: PostgresDecodable>(
    _ sql: String, _ parameters: [(any PostgresEncodable)?], as type: T.Type = T.self
  ) async throws -> T {
    try await rows(sql, parameters)[0].decode(0)
  }

  /// Runs one statement. Repeats it after a deadlock, and throws the queue's own errors as `JobQueueError`.
  @discardableResult
  func rows(_ sql: String, _ parameters: [(any PostgresEncodable)?]) async throws -> Rows {
    var attempt: Int64 = 0
    while true {
      attempt += 1
      do {
        return try await connection.query(sql, parameters)
      } catch let error as PostgresError {
        if let refused = JobQueueError(error) { throw refused }
        // In a failed transaction the statement cannot be repeated alone: the caller repeats the whole transaction.
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
