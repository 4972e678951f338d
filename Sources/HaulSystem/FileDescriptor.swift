import Glibc
import HaulCLinux

/// An open file or directory. The file is closed when the last reference to this object is dropped.
package final class FileDescriptor: Sendable {
  /// The number of the file descriptor in the kernel. It is valid while this object lives.
  package let raw: Int32

  /// Takes ownership of the file descriptor `raw`. No other code may close this descriptor.
  package init(owning raw: Int32) {
    self.raw = raw
  }

  deinit {
    // Nothing can be done about an error here. Data that must be durable was synced before.
    _ = close(raw)
  }

  /// Opens a directory by a path that the operator has named. Follows symbolic links in `path`.
  ///
  /// - Throws: an error if the directory cannot be opened, or is another kind of file.
  package static func directory(_ path: String) throws(SystemError) -> FileDescriptor {
    // C would read only the path before the NUL byte.
    guard !path.utf8.contains(0) else { throw SystemError("opendir", path, EINVAL) }
    let raw = unsafe open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard raw >= 0 else { throw SystemError("opendir", path) }
    return FileDescriptor(owning: raw)
  }

  /// Opens `path` below this directory by openat2(2). Follows no symbolic link.
  ///
  /// - Returns: the file, or the error.
  package func openBeneath(
    _ path: String, _ flags: Int32, mode: UInt32 = 0
  ) -> Result<FileDescriptor, SystemError> {
    while true {
      let opened = unsafe haul_open_beneath(raw, path, flags, mode)
      if opened >= 0 { return .success(FileDescriptor(owning: opened)) }
      if errno != EINTR { return .failure(SystemError("open", path)) }
    }
  }

  /// Syncs the file by fsync(2). If the file is a directory, the directory's entries are durable on return.
  package func sync() throws(SystemError) {
    while fsync(raw) != 0 {
      if errno != EINTR { throw SystemError("fsync") }
    }
  }

  /// Syncs the file's data by fdatasync(2). On return, the file's bytes and length are durable, but the times and permissions
  /// might not be.
  package func syncData() throws(SystemError) {
    while fdatasync(raw) != 0 {
      if errno != EINTR { throw SystemError("fdatasync") }
    }
  }

  /// Returns the size, times and owner of the open file. (fstat(2))
  package func status() throws(SystemError) -> FileStatus {
    var found = stat()
    guard unsafe fstat(raw, &found) == 0 else { throw SystemError("fstat") }
    return FileStatus(found)
  }

  /// The absolute path of the open file according to the kernel; nil if the kernel has none. (proc(5))
  package var path: String? {
    unsafe withUnsafeTemporaryAllocation(of: CChar.self, capacity: Int(PATH_MAX)) { bytes in
      guard let start = bytes.baseAddress else { return nil }
      let count = unsafe readlink("/proc/self/fd/\(raw)", start, bytes.count)
      guard count > 0, unsafe bytes[0] == CChar(UInt8(ascii: "/")) else { return nil }
      return unsafe String(
        decoding: UnsafeRawBufferPointer(start: start, count: count), as: UTF8.self)
    }
  }

  /// Returns the size, times and owner of the file at `path` below this directory; nil if no file exists there. Does not follow
  /// a symbolic link in the last component.
  package func status(of path: String) throws(SystemError) -> FileStatus? {
    var found = stat()
    if unsafe fstatat(raw, path, &found, AT_SYMLINK_NOFOLLOW) == 0 { return FileStatus(found) }
    if errno == ENOENT { return nil }
    throw SystemError("fstatat", path)
  }
}

/// The fields of stat(2) that Haul uses.
package struct FileStatus: Equatable, Sendable {
  package var device: UInt64
  package var inode: UInt64
  /// The size in bytes.
  package var size: Int64
  /// The time of the last change of the content, in nanoseconds since 1970.
  package var modified: Int64
  /// The id of the user who owns the file.
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
