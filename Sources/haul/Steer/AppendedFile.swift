import Arguments
import Glibc
import HaulSystem

/// A file to which a program appends lines. If it is a regular file, only its owner may be able to read it.
struct AppendedFile: Sendable {
  private let file: FileDescriptor
  private let path: String
  private let isRegular: Bool

  /// Opens the file at `path`, and creates it if it does not exist. Follows symbolic links.
  /// - Throws: ``ExitError`` if other users can read the file; `SystemError` if it cannot be opened.
  init(_ path: String) throws {
    guard !path.isEmpty, !path.utf8.contains(0) else {
      throw ExitError(.usage, "the name of the file is empty.")
    }
    let raw = unsafe open(path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
    guard raw >= 0 else { throw SystemError("open", path) }
    file = FileDescriptor(owning: raw)
    self.path = path
    var found = stat()
    guard unsafe fstat(raw, &found) == 0 else { throw SystemError("fstat", path) }
    isRegular = found.st_mode & S_IFMT == S_IFREG
    guard isRegular else { return }
    guard found.st_mode & 0o077 == 0 else {
      throw ExitError(
        .usage, "other users can read \"\(SafeText.visible(path))\". Run chmod 600 on it first.")
    }
    try endLastLine()
    // The name of a new file must survive a loss of power too.
    let slash = path.lastIndex(of: "/")
    let directory = slash.map { $0 == path.startIndex ? "/" : String(path[..<$0]) } ?? "."
    try FileDescriptor.directory(directory).sync()
  }

  /// Appends the lines. They are durable on return. After an error, the file is as before, if it is a regular file.
  func append(_ lines: [String]) throws(SystemError) {
    let end = lseek(file.raw, 0, SEEK_END)
    do {
      try write(lines.lazy.map { $0 + "\n" }.joined())
      if isRegular { try file.sync() }
    } catch {
      if isRegular { _ = ftruncate(file.raw, end) }
      throw error
    }
  }

  /// A process that was killed may have left a part of a line.
  private func endLastLine() throws(SystemError) {
    let end = lseek(file.raw, 0, SEEK_END)
    var last = UInt8(ascii: "\n")
    if end > 0, unsafe pread(file.raw, &last, 1, end - 1) != 1 { throw SystemError("read", path) }
    if last != UInt8(ascii: "\n") { try write("\n") }
  }

  private func write(_ text: String) throws(SystemError) {
    let bytes = Array(text.utf8)
    var written = 0
    while written < bytes.count {
      let count = unsafe bytes.withUnsafeBytes { buffer in
        unsafe Glibc.write(
          file.raw, buffer.baseAddress?.advanced(by: written), buffer.count - written)
      }
      if count < 0 && errno == EINTR { continue }
      if count <= 0 { throw SystemError("write", path) }
      written += count
    }
  }
}
