import FoundationEssentials
import Glibc
import HaulCLinux
import HaulSystem

/// The layout of the cluster's directory, which no other user can change.
///
/// Root's server is `postgres`, who may not change what root writes and reads here: only the data and
/// the socket's directory are its own.
struct ClusterDirectory: Sendable {
  let location: ClusterLocation
  let user: ServerUser

  var path: String { location.directory }
  /// Held by who starts the server or makes the cluster.
  var turnLock: String { "\(path)/lock" }
  /// Held by the processes of the server, from their start to the end of the last.
  var serverLock: String { "\(path)/server" }
  /// Held, shared, by each user of the server.
  var usersLock: String { "\(path)/users" }
  /// The log of the server's last start; the log before it is kept beside it.
  var log: String { "\(path)/log" }
  var data: String { location.data }
  /// Data that is being made.
  var newData: String { "\(path)/data.new" }
  var postmasterFile: String { "\(data)/postmaster.pid" }

  /// Creates the directory, or checks that only the caller can change the existing one.
  ///
  /// - Parameter fileSystem: the magic number of an open directory's file system, as statfs(2) has it.
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

  /// Locks on a network file system may mean nothing to another machine, and two servers would ruin the data.
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

  /// By the magic number of statfs(2).
  private static let networkFileSystems: [UInt32: String] = [
    0x6969: "NFS", 0xff53_4d42: "CIFS", 0xfe53_4d42: "SMB", 0x517b: "SMB", 0x00c3_6400: "Ceph",
    0x5346_414f: "AFS", 0x6b41_4653: "AFS", 0x7373_2f66: "Coda", 0x0bd0_0bd0: "Lustre",
  ]

  /// PostgreSQL's major version that made the data; nil where there is none.
  ///
  /// - Throws: also when something else lies where the data belongs.
  func major() throws(EmbeddedPostgresError) -> Int? {
    guard let owner = Self.status(data)?.st_uid else { return nil }
    guard owner == user.id else { throw .notOurs(data, owner: ServerUser.name(of: owner)) }
    let version = SmallFile.read("\(data)/PG_VERSION") ?? ""
    guard let major = Int(version.filter { !$0.isWhitespace }) else {
      throw .inputOutput(data, reason: "it holds no PostgreSQL data; move it away")
    }
    return major
  }

  /// The directory of the socket, made if it is not there: in the cluster's, or, where a socket's path
  /// would become too long for the kernel (unix(7): 108 bytes), in a shorter one of the caller's.
  func socketDirectory() throws(EmbeddedPostgresError) -> String {
    let (parent, directory) = socketPlace
    if let parent { try makeOwn(parent) }
    try make(directory, owner: user.id, group: user.group, mode: 0o700)
    return directory
  }

  /// The directory of the socket, and its parent where that is not the cluster's directory.
  var socketPlace: (parent: String?, directory: String) {
    if Self.fitsSocket("\(path)/socket") { return (nil, "\(path)/socket") }
    // FNV-1a: another name for another cluster, nothing more.
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

  /// Root's lets others pass through, and not look: the server must.
  private var ownMode: mode_t { user.isForRoot ? 0o711 : 0o700 }

  private func makeOwn(_ path: String) throws(EmbeddedPostgresError) {
    try make(path, owner: geteuid(), group: getegid(), mode: ownMode)
  }

  /// Makes a directory that is `owner`'s alone to change, or checks that it is.
  ///
  /// A symbolic link to one will do if it is `owner`'s as well.
  func make(
    _ path: String, owner: uid_t, group: gid_t, mode: mode_t
  ) throws(EmbeddedPostgresError) {
    // With its rights at once, as far as umask(2) lets it: whoever comes at the same time looks at them.
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
      throw .notPermitted(path, reason: "others may write in it")
    }
    // Made by root for the server just now, or before a crash at this point.
    if found.st_uid != owner, found.st_uid == geteuid(), found.st_mode & S_IFMT == S_IFDIR {
      guard unsafe lchown(path, owner, group) == 0 else { throw .failed(path, errno) }
      return
    }
    for user in [found.st_uid, target.st_uid] where user != owner {
      throw .notOurs(path, owner: ServerUser.name(of: user))
    }
  }

  /// Root refuses to work below a directory that another user could replace, or that its server cannot
  /// enter.
  private func requireSafeWay(to path: String) throws(EmbeddedPostgresError) {
    var step = path
    while true {
      guard let found = Self.status(step) else { throw .failed(step, errno) }
      guard found.st_uid == 0 else {
        throw .notOurs(step, owner: ServerUser.name(of: found.st_uid))
      }
      if found.st_mode & S_IFMT == S_IFDIR {
        if found.st_mode & (S_IWGRP | S_IWOTH) != 0, found.st_mode & S_ISVTX == 0 {
          throw .notPermitted(step, reason: "others may write in it")
        }
        if found.st_mode & S_IXOTH == 0 {
          throw .notPermitted(
            step, reason: "\(user.name), who runs root's database, cannot enter it")
        }
      }
      if step == "/" { return }
      step = Self.parent(of: step)
    }
  }

  /// The directories on the way, for the caller alone. (XDG Base Directory Specification: 0700)
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

  /// lstat(2); nil with errno where there is nothing.
  static func status(_ path: String) -> stat? {
    var found = stat()
    return unsafe lstat(path, &found) == 0 ? found : nil
  }
}
