import FoundationEssentials
import Glibc
import HaulCLinux
import HaulSystem

/// The layout of the cluster's directory, which no other user can change.
///
/// If root starts the server, the server runs as `postgres`. That user must not change the files that root writes and reads here,
/// so `postgres` owns only the data and the socket's directory.
struct ClusterDirectory: Sendable {
  let location: ClusterLocation
  let user: ServerUser

  var path: String { location.directory }
  /// The lock of the process that is starting the server or creating the cluster.
  var turnLock: String { "\(path)/lock" }
  /// The lock of the server's processes, from the start of the server to the end of its last process.
  var serverLock: String { "\(path)/server" }
  /// The lock that each user of the server holds in shared mode.
  var usersLock: String { "\(path)/users" }
  /// The log since the server's last start. The previous log is kept beside this file.
  var log: String { "\(path)/log" }
  var data: String { location.data }
  /// The data directory while it is being created.
  var newData: String { "\(path)/data.new" }
  var postmasterFile: String { "\(data)/postmaster.pid" }

  /// Creates the directory, or checks that only the caller can change the existing one.
  ///
  /// - Parameter fileSystem: the magic number of an open directory's file system, as statfs(2) returns it.
  func prepare(
    fileSystem: (Int32) -> UInt32 = haul_file_system
  ) throws(EmbeddedPostgresError) {
    try makeParents(of: path)
    try makeOwn(path)
    try requireLocalFileSystem(fileSystem)
    guard user.isForRoot else { return }
    guard let resolved = unsafe realpath(path, nil) else { throw .failed(path, errno) }
    defer { unsafe free(resolved) }
    try requireSafeWay(to: path)
    try requireSafeWay(to: unsafe String(cString: resolved))
  }

  /// Requires a local file system. On a network file system, another machine may ignore the locks, and two servers would
  /// damage the data.
  private func requireLocalFileSystem(
    _ fileSystem: (Int32) -> UInt32
  ) throws(EmbeddedPostgresError) {
    let root = unsafe open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard root >= 0 else { throw .failed(path, errno) }
    defer { close(root) }
    if let name = Self.networkFileSystems[fileSystem(root)] {
      throw .networkFileSystem(path, kind: name)
    }
  }

  /// The names of network file systems. The key is the magic number from statfs(2).
  private static let networkFileSystems: [UInt32: String] = [
    0x6969: "NFS", 0xff53_4d42: "CIFS", 0xfe53_4d42: "SMB", 0x517b: "SMB", 0x00c3_6400: "Ceph",
    0x5346_414f: "AFS", 0x6b41_4653: "AFS", 0x7373_2f66: "Coda", 0x0bd0_0bd0: "Lustre",
  ]

  /// Returns the major version of PostgreSQL that created the data; nil if there is no data.
  ///
  /// - Throws: an error if something else is at the path of the data.
  func major() throws(EmbeddedPostgresError) -> Int? {
    guard let owner = Self.status(data)?.st_uid else { return nil }
    guard owner == user.id else { throw .notOurs(data, owner: ServerUser.name(of: owner)) }
    let version = SmallFile.read("\(data)/PG_VERSION") ?? ""
    guard let major = Int(version.filter { !$0.isWhitespace }) else {
      throw .inputOutput(
        data, reason: "the directory contains no PostgreSQL data; rename the directory")
    }
    return major
  }

  /// Returns the directory of the socket, and creates it if it is missing. The directory is in the cluster's directory. If the
  /// socket's path would be too long for the kernel (unix(7): 108 bytes), it is in another parent directory, which has a shorter
  /// path and belongs to the caller.
  func socketDirectory() throws(EmbeddedPostgresError) -> String {
    let (parent, directory) = socketPlace
    if let parent { try makeOwn(parent) }
    try make(directory, owner: user.id, group: user.group, mode: 0o700)
    return directory
  }

  /// The directory of the socket, and its parent if that is not the cluster's directory.
  var socketPlace: (parent: String?, directory: String) {
    if Self.fitsSocket("\(path)/socket") { return (nil, "\(path)/socket") }
    // FNV-1a. The hash only has to give different clusters different names.
    var digest: UInt64 = 0xcbf2_9ce4_8422_2325
    for byte in path.utf8 { digest = (digest ^ UInt64(byte)) &* 0x100_0000_01b3 }
    let name = String(digest, radix: 16)
    let candidates =
      user.isForRoot
      ? ["/run/haul"]
      : (location.runtimeDirectory.map { ["\($0)/haul"] } ?? []) + ["/tmp/haul-\(user.id)"]
    let parent = candidates.first { Self.fitsSocket("\($0)/\(name)") } ?? candidates[0]
    return (parent, "\(parent)/\(name)")
  }

  private static func fitsSocket(_ directory: String) -> Bool {
    "\(directory)/.s.PGSQL.\(ServerSettings.port)".utf8.count < 107
  }

  /// The permissions of the cluster's directory. If root made the directory, the server runs as another user and must enter it:
  /// other users can then enter the directory but not list it.
  private var ownMode: mode_t { user.isForRoot ? 0o711 : 0o700 }

  private func makeOwn(_ path: String) throws(EmbeddedPostgresError) {
    try make(path, owner: geteuid(), group: getegid(), mode: ownMode)
  }

  /// Creates a directory that only `owner` can change, or checks that only `owner` can change the existing directory.
  ///
  /// A symbolic link to such a directory is accepted if the link also belongs to `owner`.
  func make(
    _ path: String, owner: uid_t, group: gid_t, mode: mode_t
  ) throws(EmbeddedPostgresError) {
    // Create the directory with its final permissions, as far as umask(2) allows: a concurrent process may check them.
    if unsafe mkdir(path, mode) == 0 {
      guard unsafe chmod(path, mode) == 0 else { throw .failed(path, errno) }
    } else if errno != EEXIST {
      throw .failed(path, errno)
    }
    var target = stat()
    guard let found = Self.status(path), unsafe stat(path, &target) == 0 else {
      throw .failed(path, errno)
    }
    guard target.st_mode & S_IFMT == S_IFDIR else { throw .failed(path, ENOTDIR) }
    guard target.st_mode & (S_IWGRP | S_IWOTH) == 0 else {
      throw .notPermitted(path, reason: "other users may write to this directory")
    }
    // Root created the directory for the server just now, or before a crash at this point.
    if found.st_uid != owner, found.st_uid == geteuid(), found.st_mode & S_IFMT == S_IFDIR {
      guard unsafe lchown(path, owner, group) == 0 else { throw .failed(path, errno) }
      return
    }
    for user in [found.st_uid, target.st_uid] where user != owner {
      throw .notOurs(path, owner: ServerUser.name(of: user))
    }
  }

  /// Checks all parents of root's directory. Refuses a parent that another user could replace or that the server cannot enter.
  private func requireSafeWay(to path: String) throws(EmbeddedPostgresError) {
    var step = path
    while true {
      guard let found = Self.status(step) else { throw .failed(step, errno) }
      guard found.st_uid == 0 else {
        throw .notOurs(step, owner: ServerUser.name(of: found.st_uid))
      }
      if found.st_mode & S_IFMT == S_IFDIR {
        if found.st_mode & (S_IWGRP | S_IWOTH) != 0, found.st_mode & S_ISVTX == 0 {
          throw .notPermitted(step, reason: "other users may write to this directory")
        }
        if found.st_mode & S_IXOTH == 0 {
          throw .notPermitted(
            step,
            reason:
              "the user \(user.name), who runs the database for root, cannot enter this directory")
        }
      }
      if step == "/" { return }
      step = Self.parent(of: step)
    }
  }

  /// Creates missing parent directories that only the caller can use. (XDG Base Directory Specification: 0700)
  private func makeParents(of path: String) throws(EmbeddedPostgresError) {
    let parent = Self.parent(of: path)
    if Self.status(parent) != nil { return }
    try makeParents(of: parent)
    if unsafe mkdir(parent, ownMode) == 0 {
      guard unsafe chmod(parent, ownMode) == 0 else { throw .failed(parent, errno) }
    } else if errno != EEXIST {
      throw .failed(parent, errno)
    }
  }

  private static func parent(of path: String) -> String {
    let end = path.lastIndex(of: "/") ?? path.startIndex
    return end == path.startIndex ? "/" : String(path[..<end])
  }

  /// Returns lstat(2) of a path; nil if it fails, with the reason in errno.
  static func status(_ path: String) -> stat? {
    var found = stat()
    return unsafe lstat(path, &found) == 0 ? found : nil
  }
}
