package import Glibc

/// A user of this system.
package struct SystemUser: Sendable, Equatable {
  package let name: String
  package let id: uid_t
  package let group: gid_t

  /// Finds a user by name; nil if no user has this name, or if the list of users cannot be read. (getpwnam_r(3))
  package init?(named name: String) {
    unsafe self.init { unsafe getpwnam_r(name, $0, $1, $2, $3) }
  }

  /// Finds a user by id; nil if no user has this id, or if the list of users cannot be read. (getpwuid_r(3))
  package init?(id: uid_t) {
    unsafe self.init { unsafe getpwuid_r(id, $0, $1, $2, $3) }
  }

  private init?(
    _ look: (
      UnsafeMutablePointer<passwd>, UnsafeMutablePointer<CChar>, Int,
      UnsafeMutablePointer<UnsafeMutablePointer<passwd>?>
    ) -> Int32
  ) {
    let user = unsafe withUnsafeTemporaryAllocation(of: CChar.self, capacity: 16_384) {
      text -> (String, uid_t, gid_t)? in
      guard let start = text.baseAddress else { return nil }
      var entry = unsafe passwd()
      var found: UnsafeMutablePointer<passwd>?
      guard unsafe look(&entry, start, text.count, &found) == 0, unsafe found != nil else {
        return nil
      }
      return unsafe (String(cString: entry.pw_name), entry.pw_uid, entry.pw_gid)
    }
    guard let user else { return nil }
    (name, id, group) = user
  }

  /// Returns the name of the user with this id, or the id as text if no user has it.
  package static func word(_ id: uid_t) -> String { Self(id: id)?.name ?? "\(id)" }

  /// The user of this process as a word for chown(1) or install(1): the name, or the id if the user has no name.
  package static var ownWord: String { shellWord(word(geteuid())) }
}
