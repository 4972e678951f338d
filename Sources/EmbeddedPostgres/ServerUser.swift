import Glibc
import HaulSystem

/// The system user that runs the server and owns its data. This is the caller; if the caller is root, it is `postgres`, because
/// PostgreSQL refuses to run as root.
struct ServerUser: Sendable, Equatable {
  let name: String
  let id: uid_t
  let group: gid_t
  /// Whether the caller is root and must switch to this user to run a program of PostgreSQL.
  let isForRoot: Bool

  static let rootsServer = "postgres"

  /// Returns the user for the caller.
  /// - Throws: `noServerUser`, `openFiles`.
  static func current() throws(EmbeddedPostgresError) -> ServerUser {
    let caller = geteuid()
    if caller == 0 {
      guard let found = SystemUser(named: rootsServer) else { throw unknown(rootsServer) }
      return ServerUser(name: found.name, id: found.id, group: found.group, isForRoot: true)
    }
    guard let found = SystemUser(id: caller) else { throw unknown("with id \(caller)") }
    return ServerUser(name: found.name, id: caller, group: found.group, isForRoot: false)
  }

  /// Returns the error for a user that was not found. If no file can be opened, the list of users could not be read.
  private static func unknown(_ name: String) -> EmbeddedPostgresError {
    SmallFile.canOpen ? .noServerUser(name) : .openFiles("the list of users")
  }

  /// The names of the system users that may connect.
  var callers: [String] { isForRoot ? ["root", name] : [name] }

  /// The ids of all groups of the user. (getgrouplist(3))
  var groups: [gid_t] {
    var count: Int32 = 64
    while true {
      var groups = [gid_t](repeating: 0, count: Int(count))
      if unsafe getgrouplist(name, group, &groups, &count) >= 0 {
        return Array(groups.prefix(Int(count)))
      }
    }
  }

  /// Returns a user's name for a sentence, or a text with the user's id if there is no name.
  static func name(of user: uid_t) -> String {
    SystemUser(id: user)?.name ?? "the user with id \(user)"
  }
}
