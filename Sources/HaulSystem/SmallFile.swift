import Glibc

/// Reads and writes whole files of a few lines.
package enum SmallFile {
  private static let limit = 65_536

  /// Returns the content of a file, or only the last 64 KiB of a longer file; nil if the file cannot be read. Does not follow a
  /// symbolic link and does not wait for a pipe.
  package static func read(_ path: String) -> String? { try? readable(path) }

  /// Returns the content of a file, in the same way as ``read(_:)``. Returns nil if the file cannot be opened, but throws if the
  /// process or machine has no free file descriptor.
  ///
  /// - Throws: only EMFILE and ENFILE.
  package static func readable(_ path: String) throws(SystemError) -> String? {
    let file = unsafe open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
    guard file >= 0 else {
      if [EMFILE, ENFILE].contains(errno) { throw SystemError("open", path) }
      return nil
    }
    defer { close(file) }
    return read(file)
  }

  /// Returns the content of an open file, or only the last 64 KiB of a longer file.
  package static func read(_ file: Int32) -> String {
    let start = max(0, lseek(file, 0, SEEK_END) - limit)
    var bytes = [UInt8](repeating: 0, count: limit)
    let count = unsafe pread(file, &bytes, limit, start)
    return String(decoding: bytes.prefix(max(0, count)), as: UTF8.self)
  }

  /// Whether this process can open one more file.
  package static var canOpen: Bool {
    let file = unsafe open("/", O_RDONLY | O_CLOEXEC)
    if file >= 0 { close(file) }
    return file >= 0
  }

  /// Replaces the content of the file at `path`. Every user can read the file.
  package static func write(_ text: String, to path: String) throws(SystemError) {
    let temporary = path + ".new"
    let file = unsafe open(
      temporary, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0o644)
    guard file >= 0 else { throw SystemError("open", path) }
    defer { close(file) }
    let bytes = Array(text.utf8)
    let written = unsafe Glibc.write(file, bytes, bytes.count)
    guard written == bytes.count else {
      throw SystemError("write", path, written < 0 ? errno : ENOSPC)
    }
    guard fchmod(file, 0o644) == 0, unsafe rename(temporary, path) == 0 else {
      throw SystemError("rename", path)
    }
  }
}
