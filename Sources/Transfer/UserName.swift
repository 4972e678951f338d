internal import FoundationEssentials
internal import Glibc

/// The user that a process runs as.
package enum UserName {
  /// This process's, as chown(1) takes it: its number where it has no name.
  package static var own: String {
    let name = ProcessInfo.processInfo.userName
    return name.isEmpty ? "\(geteuid())" : name
  }
}
