import Glibc

/// The user that this process runs as.
package enum UserName {
  /// As one word of a command for chown(1) or install(1): the number where the system knows no name. (getpwuid_r(3))
  package static var own: String {
    let name = unsafe withUnsafeTemporaryAllocation(of: CChar.self, capacity: 16_384) {
      text -> String? in
      guard let start = text.baseAddress else { return nil }
      var entry = unsafe passwd()
      var found: UnsafeMutablePointer<passwd>?
      guard unsafe getpwuid_r(geteuid(), &entry, start, text.count, &found) == 0,
        unsafe found != nil
      else { return nil }
      return unsafe String(cString: entry.pw_name)
    }
    return shellWord(name ?? "\(geteuid())")
  }
}
