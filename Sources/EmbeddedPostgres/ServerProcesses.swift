import FoundationEssentials
import Glibc
import HaulCLinux

/// Which processes serve a data directory: the kernel knows, whatever files say.
///
/// A server's processes work in its data directory, from their start on, and run a program named
/// `postgres`; one that has ended, and was not collected, works nowhere.
struct ServerProcesses {
  private let device: dev_t
  private let inode: ino_t
  private let user: uid_t

  /// nil where there is no data.
  init?(_ directory: ClusterDirectory) {
    guard let found = ClusterDirectory.status(directory.data) else { return nil }
    (device, inode, user) = (found.st_dev, found.st_ino, directory.user.id)
  }

  /// Whether this process is one of them, and may be signalled.
  func contain(_ pid: pid_t) -> Bool {
    var process = stat()
    var place = stat()
    guard unsafe stat("/proc/\(pid)", &process) == 0, process.st_uid == user,
      unsafe stat("/proc/\(pid)/cwd", &place) == 0, place.st_dev == device, place.st_ino == inode,
      let program = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/\(pid)/exe")
    else { return false }
    // The latter once the package was upgraded.
    return ["postgres", "postgres (deleted)"].contains(program.split(separator: "/").last)
  }

  /// Whether there is any, such as one that outlived its postmaster for a moment.
  var isAnyLeft: Bool {
    let names = (try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? []
    return names.contains { name in pid_t(name).map(contain) ?? false }
  }
}
