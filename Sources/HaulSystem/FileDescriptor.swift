import Glibc
import HaulCLinux

/// An open file or directory, closed with its last reference.
package final class FileDescriptor: Sendable {
  /// The number that the kernel knows it by; valid while this object lives.
  package let raw: Int32

  /// Takes over `raw`, which no other code may close.
  package init(owning raw: Int32) {
    self.raw = raw
  }

  deinit {
    // Nothing can be done about an error here: what must last was synced before.
    _ = close(raw)
  }

  /// Opens a directory that the operator named, following symbolic links in `path`.
  ///
  /// - Throws: where it cannot be opened or is no directory.
  package static func directory(_ path: String) throws(SystemError) -> FileDescriptor {
    // C would take what stands before it for the path.
    guard !path.utf8.contains(0) else { throw SystemError("opendir", path, EINVAL) }
    let raw = unsafe open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard raw >= 0 else { throw SystemError("opendir", path) }
    return FileDescriptor(owning: raw)
  }

  /// openat2(2): opens `path` below this directory, following no symbolic link.
  ///
  /// - Returns: the file, or the error number.
  package func openBeneath(
    _ path: String, _ flags: Int32, mode: UInt32 = 0
  ) -> Result<FileDescriptor, SystemError> {
    while true {
      let opened = unsafe haul_open_beneath(raw, path, flags, mode)
      if opened >= 0 { return .success(FileDescriptor(owning: opened)) }
      if errno != EINTR { return .failure(SystemError("open", path)) }
    }
  }

  /// fsync(2) of this descriptor; for a directory, its entries are durable on return.
  package func sync() throws(SystemError) {
    while fsync(raw) != 0 {
      if errno != EINTR { throw SystemError("fsync") }
    }
  }

  /// fdatasync(2): bytes and length are durable on return, times and rights perhaps not.
  package func syncData() throws(SystemError) {
    while fdatasync(raw) != 0 {
      if errno != EINTR { throw SystemError("fdatasync") }
    }
  }

  /// What the kernel knows about the open file.
  package func status() throws(SystemError) -> FileStatus {
    var found = stat()
    guard unsafe fstat(raw, &found) == 0 else { throw SystemError("fstat") }
    return FileStatus(found)
  }

  /// The absolute path that the kernel knows for it; nil where it tells none. (proc(5))
  package var path: String? {
    var bytes = [UInt8](repeating: 0, count: Int(PATH_MAX))
    let count = unsafe readlink("/proc/self/fd/\(raw)", &bytes, bytes.count)
    guard count > 0, bytes[0] == UInt8(ascii: "/") else { return nil }
    return String(decoding: bytes.prefix(count), as: UTF8.self)
  }

  /// What the kernel knows about `path` below this directory; the last component is not followed if
  /// it is a symbolic link. Nil where nothing is there.
  package func status(of path: String) throws(SystemError) -> FileStatus? {
    var found = stat()
    if unsafe fstatat(raw, path, &found, AT_SYMLINK_NOFOLLOW) == 0 { return FileStatus(found) }
    if errno == ENOENT { return nil }
    throw SystemError("fstatat", path)
  }
}

/// The part of stat(2) that is used.
package struct FileStatus: Equatable, Sendable {
  package var device: UInt64
  package var inode: UInt64
  /// In bytes.
  package var size: Int64
  /// When its bytes were last changed, in nanoseconds since 1970.
  package var modified: Int64
  /// The user it belongs to.
  package var owner: UInt32
  package var isRegular: Bool
  package var isDirectory: Bool

  init(_ found: stat) {
    device = UInt64(found.st_dev)
    inode = UInt64(found.st_ino)
    size = Int64(found.st_size)
    modified = Int64(found.st_mtim.tv_sec) &* 1_000_000_000 &+ Int64(found.st_mtim.tv_nsec)
    owner = found.st_uid
    isRegular = found.st_mode & S_IFMT == S_IFREG
    isDirectory = found.st_mode & S_IFMT == S_IFDIR
  }
}
