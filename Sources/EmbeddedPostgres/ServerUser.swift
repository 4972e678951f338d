import Glibc
import HaulSystem

/// The system's user that the server runs as, and who owns its data: the caller, or for root
/// `postgres`, since PostgreSQL refuses root.
struct ServerUser: Sendable, Equatable {
  let name: String
  let id: uid_t
  let group: gid_t
  /// Whether the caller is root, and must become this user to run a program of PostgreSQL.
  let isForRoot: Bool

  static let rootsServer = "postgres"

  /// - Throws: `noServerUser`, `openFiles`.
  static func current() throws(EmbeddedPostgresError) -> ServerUser {
    let caller = geteuid()
    if caller == 0 {
      guard let found = SystemUser(named: rootsServer) else { throw unknown(rootsServer) }
      return ServerUser(name: found.name, id: found.id, group: found.group, isForRoot: true)
    }
    guard let found = SystemUser(id: caller) else { throw unknown("number \(caller)") }
    return ServerUser(name: found.name, id: caller, group: found.group, isForRoot: false)
  }

  /// The list of users is made of files: that none can be opened says nothing of who is in it.
  private static func unknown(_ name: String) -> EmbeddedPostgresError {
    SmallFile.canOpen ? .noServerUser(name) : .openFiles("the list of users")
  }

  /// The users of the system that may connect.
  var callers: [String] { isForRoot ? ["root", name] : [name] }

  /// All groups it is a member of. (getgrouplist(3))
  var groups: [gid_t] {
    var count: Int32 = 64
    while true {
      var groups = [gid_t](repeating: 0, count: Int(count))
      if unsafe getgrouplist(name, group, &groups, &count) >= 0 {
        return Array(groups.prefix(Int(count)))
      }
    }
  }

  /// A user's name for a sentence, or the number where there is no name.
  static func name(of user: uid_t) -> String {
    SystemUser(id: user)?.name ?? "user number \(user)"
  }
}
