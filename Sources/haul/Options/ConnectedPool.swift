import Arguments
import FoundationEssentials
import HaulSystem
import Postgres
import Synchronization
import Terminal

/// The pool that this process is connected to. Output and messages name it. A command uses only one pool.
enum ConnectedPool {
  private struct State {
    var database: String?
    /// Nil before a command has named the pool.
    var schema: SchemaName?
  }

  private static let state = Mutex(State())

  /// The database and its server, `haul at db.example.org:5432`, or nil before the first connection.
  static var name: String? { state.withLock { $0.database } }

  /// The clause that names the pool, such as ` in the pool haul at db.example.org:5432`; empty before the first connection.
  static var clause: String { name.map { " in the pool \($0)" } ?? "" }

  /// The last member of each JSON object that a command prints: the name of the pool. Empty before the first connection.
  static var members: [JSONValue.Member] { name.map { [.init("pool", .string($0))] } ?? [] }

  /// Records the schema of the pool, before the first connection.
  static func note(_ schema: SchemaName) { state.withLock { $0.schema = schema } }

  /// Records the pool. If its server is a standby, says so on standard error.
  static func note(_ connection: Connection) {
    state.withLock { $0.database = connection.database }
    guard connection.isStandby else { return }
    StandardStream.say(
      "haul: \(SafeText.visible(connection.database)) is a standby. It may be some seconds behind, and it does not show the progress of running transfers\n"
    )
  }

  /// Returns `text` with the schema in front of each command that it recommends: `HAUL_SCHEMA=lab haul migrate`. Returns it
  /// unchanged if the commands mean this pool already, because its schema is the usual one or stands in the environment.
  static func advice(_ text: String) -> String {
    guard let schema = state.withLock({ $0.schema }) else { return text }
    let environment = ProcessInfo.processInfo.environment["HAUL_SCHEMA"] ?? ""
    if schema.name == (environment.isEmpty ? SchemaName.usual.name : environment) { return text }
    return naming(schema, in: text)
  }

  /// Returns `text` with `HAUL_SCHEMA=` in front of each command of Haul. A label such as `haul jobs: …` is not a command, and
  /// `haul migrate --schema …` names its schema.
  static func naming(_ schema: SchemaName, in text: String) -> String {
    text.replacing(/(^|[\s'(])haul ([a-z-]+)(?= |'|$|\.|,|\n)/) { match in
      let command = Haul.tree.root.children.first { $0.name == match.2 }
      let rest = text[match.range.upperBound...]
      guard let command, takesSchema(command), !rest.hasPrefix(" --schema") else {
        return String(match.0)
      }
      return "\(match.1)HAUL_SCHEMA=\(schema.name) haul \(match.2)"
    }
  }

  /// Whether a command, or one below it, has the option `--schema`. `haul up` and `haul get` have pools of their own.
  private static func takesSchema(_ command: CommandNode) -> Bool {
    command.options.contains { $0.long == "schema" }
      || command.children.contains(where: takesSchema)
  }
}
