import Postgres
import Synchronization
import Terminal

/// The pool that this process has reached, which its output names: a command talks to one.
enum ConnectedPool {
  private static let database = Mutex<String?>(nil)

  /// The database and its server: `haul at db.example.org:5432`; nil before a connection was made.
  static var name: String? { database.withLock(\.self) }

  /// The member that each JSON object of a command's output ends with.
  static var members: [JSONValue.Member] { name.map { [.init("pool", .string($0))] } ?? [] }

  static func note(_ connection: Connection) {
    database.withLock { $0 = connection.database }
  }
}
