import Glibc

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
      let found = unsafe entry { unsafe getpwnam_r(rootsServer, $0, $1, $2, $3) }
      guard let found else { throw unknown(rootsServer) }
      return ServerUser(name: found.name, id: found.id, group: found.group, isForRoot: true)
    }
    let found = unsafe entry { unsafe getpwuid_r(caller, $0, $1, $2, $3) }
    guard let found else { throw unknown("number \(caller)") }
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
    let found = unsafe entry { unsafe getpwuid_r(user, $0, $1, $2, $3) }
    return found?.name ?? "user number \(user)"
  }

  /// What a look-up in the system's list of users finds. (getpwnam_r(3))
  private static func entry(
    _ look: (
      UnsafeMutablePointer<passwd>, UnsafeMutablePointer<CChar>, Int,
      UnsafeMutablePointer<UnsafeMutablePointer<passwd>?>
    ) -> Int32
  ) -> (name: String, id: uid_t, group: gid_t)? {
    unsafe withUnsafeTemporaryAllocation(of: CChar.self, capacity: 16_384) { text in
      guard let start = text.baseAddress else { return nil }
      var entry = unsafe passwd()
      var found: UnsafeMutablePointer<passwd>?
      guard unsafe look(&entry, start, text.count, &found) == 0, unsafe found != nil else {
        return nil
      }
      return unsafe (String(cString: entry.pw_name), entry.pw_uid, entry.pw_gid)
    }
  }
}
