import HaulSystem
import Postgres
import Synchronization
import Terminal

/// The pool that this process is connected to. Output and messages name it. A command uses only one pool.
enum ConnectedPool {
  private static let database = Mutex<String?>(nil)

  /// The database and its server, `haul at db.example.org:5432`, or nil before the first connection.
  static var name: String? { database.withLock(\.self) }

  /// The clause that names the pool, such as ` in the pool haul at db.example.org:5432`; empty before the first connection.
  static var clause: String { name.map { " in the pool \($0)" } ?? "" }

  /// The last member of each JSON object that a command prints: the name of the pool. Empty before the first connection.
  static var members: [JSONValue.Member] { name.map { [.init("pool", .string($0))] } ?? [] }

  /// Records the pool. If its server is a standby, says so on standard error.
  static func note(_ connection: Connection) {
    let schema = connection.schema == .usual ? "" : ", schema \(connection.schema.name)"
    database.withLock { $0 = connection.database + schema }
    guard connection.isStandby else { return }
    StandardStream.say(
      "haul: \(SafeText.visible(connection.database)) is a standby. It may be some seconds behind, and it does not show the progress of running transfers\n"
    )
  }
}
