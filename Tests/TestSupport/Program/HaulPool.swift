package import Postgres

/// A pool as an operator has it: a migrated database, a store made by `haul store init`, and the built
/// program run on them.
package final class HaulPool: Sendable {
  /// The name of the store; its queue is called the same, and `default` is another on it.
  package static let store = "data"

  package let database: TestDatabase
  /// A superuser's session that reads any table and moves times.
  package let admin: Connection
  /// The directory that ``worker(_:_:)`` mounts unless told otherwise.
  package let directory: String
  private let keeper: TemporaryDirectory

  /// A pool on `database`, whose directory is no store yet; no process runs.
  package init(_ database: TestDatabase) async throws {
    self.database = database
    admin = try await database.connect()
    keeper = try TemporaryDirectory()
    directory = keeper.path
  }

  /// Gives `body` a pool with a database of its own; an empty one is migrated by `haul migrate`.
  ///
  /// Databases that are `.migrated` are copies of one, and so are the ids of their pools.
  package static func open<Result: Sendable>(
    _ content: TestDatabase.Content = .migrated, _ body: (HaulPool) async throws -> Result
  ) async throws -> Result {
    try await withTestDatabase(content) { database in
      let pool = try await HaulPool(database)
      if case .empty = content { try await pool.command("migrate", "--share-roles") }
      try await pool.initialise(pool.directory)
      return try await body(pool)
    }
  }

  /// Makes `directory` another instance of the store.
  package func initialise(_ directory: String) async throws {
    try await command("store", "init", Self.store, directory)
  }

  /// Runs a command of `haul` to its end; any exit code is no error.
  package func haul(
    _ arguments: [String], environment: [String: String] = [:],
    within limit: Duration = .seconds(60)
  ) async throws -> ChildProcess.Output {
    try await start(arguments, environment: environment).child.result(within: limit)
  }

  /// Runs a command of `haul` that must end with 0, and returns the lines it printed, without the member that names the pool.
  ///
  /// - Throws: ``HaulFailed`` with what it said.
  @discardableResult
  package func command(_ arguments: String...) async throws -> [String] {
    let output = try await haul(arguments)
    guard output.exit == .code(0) else {
      throw HaulFailed(arguments: arguments, output: output)
    }
    return output.objects
  }

  /// Starts a command of `haul` that runs on, with its log in JSON; the database is the pool's.
  package func start(
    _ arguments: [String], environment: [String: String] = [:]
  ) throws -> HaulProcess {
    try HaulProcess(
      arguments, environment: self.environment.merging(environment) { _, other in other })
  }

  /// Starts a worker on a directory, the pool's first one unless given.
  package func worker(
    _ arguments: String..., on directory: String? = nil, environment: [String: String] = [:]
  ) throws -> HaulProcess {
    let fixed = [
      "worker", "--store", "\(Self.store)=\(directory ?? self.directory)", "--allow-net",
      "127.0.0.0/8",
    ]
    return try start(fixed + arguments, environment: environment)
  }

  /// Submits one URL to end up at `path`, and returns the job's id.
  @discardableResult
  package func submit(_ url: String, to path: String) async throws -> Int64 {
    try await command("submit", url, "--out", path)
    return try await value("SELECT id FROM haul.job WHERE path = $1", [path])
  }

  /// The state of a job by the view `jobs`.
  package func state(of job: Int64) async throws -> String {
    try await value("SELECT state::text FROM haul.jobs WHERE job = $1", [job])
  }

  /// Waits until a job is in that state.
  package func wait(
    for job: Int64, toBe state: String, within limit: Duration = .seconds(30)
  ) async throws {
    try await eventually("job \(job) to be \(state)", within: limit) {
      try await self.state(of: job) == state
    }
  }

  /// The first column of a statement's rows.
  package func values<T: PostgresDecodable>(
    _ sql: String, _ parameters: [(any PostgresEncodable)?] = []
  ) async throws -> [T] {
    try await admin.query(sql, parameters).map { try $0.decode(0) }
  }

  /// The first value of a statement's single row.
  package func value<T: PostgresDecodable>(
    _ sql: String, _ parameters: [(any PostgresEncodable)?] = []
  ) async throws -> T {
    let found: [T] = try await values(sql, parameters)
    guard let first = found.first, found.count == 1 else {
      throw NotOneRow(sql: sql, count: found.count)
    }
    return first
  }

  /// Names of the invariants that `haul.health` finds broken.
  package func violations() async throws -> [String] {
    try await values("SELECT \"check\" FROM haul.health WHERE violations <> 0 ORDER BY 1")
  }

  /// Part files in a directory of the store, relative to it.
  package func parts(in directory: String? = nil) throws -> [String] {
    try FileTree.files(below: (directory ?? self.directory) + "/.haul/parts")
  }

  private var environment: [String: String] {
    [
      "HAUL_DATABASE_URL": database.conninfo, "HAUL_LOG_FORMAT": "json",
      "HAUL_SCHEMA": database.schema.name,
    ]
  }
}

/// A command that should have succeeded did not.
package struct HaulFailed: Error, CustomStringConvertible {
  package let arguments: [String]
  package let output: ChildProcess.Output

  package init(arguments: [String], output: ChildProcess.Output) {
    self.arguments = arguments
    self.output = output
  }

  package var description: String {
    let ending = output.exit.map { "\($0)" } ?? "no end"
    let said = output.standardError.joined(separator: "\n")
    return "haul \(arguments.joined(separator: " ")): \(ending)\n\(said)"
  }
}

/// A statement that should have had one row had another number of them.
package struct NotOneRow: Error {
  package let sql: String
  package let count: Int
}

extension ChildProcess.Output {
  /// The lines of standard output, of JSON objects without the member that names the pool.
  package var objects: [String] {
    standardOutput.map { $0.replacing(/,"pool":"[^"]*"}$/, with: "}") }
  }
}

extension String {
  /// The text without the name of the pool, such as ` in the pool haul at localhost`, which ends a clause.
  package var withoutPool: String { replacing(#/ in the pool \S+ at \S+(?=\.( |$))/#, with: "") }
}
