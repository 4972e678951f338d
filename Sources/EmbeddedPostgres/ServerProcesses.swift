import FoundationEssentials
import Glibc
import HaulCLinux

/// The processes that serve a data directory, as the kernel reports them. The server's own files could be out of date.
///
/// From its start on, a process of a server has the data directory as its working directory and runs a program named
/// `postgres`. A process that has ended but was not collected has no working directory.
struct ServerProcesses {
  private let device: dev_t
  private let inode: ino_t
  private let user: uid_t

  /// Notes how to recognise the processes of this cluster. Returns nil if the cluster has no data directory.
  init?(_ directory: ClusterDirectory) {
    guard let found = ClusterDirectory.status(directory.data) else { return nil }
    (device, inode, user) = (found.st_dev, found.st_ino, directory.user.id)
  }

  /// Returns whether this process is one of the server's processes and may be signalled.
  func contain(_ pid: pid_t) -> Bool {
    var process = stat()
    var place = stat()
    guard unsafe stat("/proc/\(pid)", &process) == 0, process.st_uid == user,
      unsafe stat("/proc/\(pid)/cwd", &place) == 0, place.st_dev == device, place.st_ino == inode,
      let program = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/\(pid)/exe")
    else { return false }
    // The second name appears after an upgrade of the package.
    return ["postgres", "postgres (deleted)"].contains(program.split(separator: "/").last)
  }

  /// Whether any process of the server exists, such as one that has outlived its postmaster for a moment.
  var isAnyLeft: Bool {
    let names = (try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? []
    return names.contains { name in pid_t(name).map(contain) ?? false }
  }
}
