import Glibc
import HaulSystem

/// A file to which a program appends lines. Only its owner can read it.
struct AppendedFile: Sendable {
  private let file: FileDescriptor
  private let path: String

  /// Opens the file at `path`, and creates it if it does not exist. Follows symbolic links.
  init(_ path: String) throws(SystemError) {
    guard !path.utf8.contains(0) else { throw SystemError("open", path, EINVAL) }
    let raw = unsafe open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
    guard raw >= 0 else { throw SystemError("open", path) }
    file = FileDescriptor(owning: raw)
    self.path = path
  }

  /// Appends the lines. They are durable on return. After an error the file may have a part of them.
  func append(_ lines: [String]) throws(SystemError) {
    let bytes = Array(lines.lazy.map { $0 + "\n" }.joined().utf8)
    var written = 0
    while written < bytes.count {
      let count = unsafe bytes.withUnsafeBytes { buffer in
        unsafe write(file.raw, buffer.baseAddress?.advanced(by: written), buffer.count - written)
      }
      if count < 0 && errno == EINTR { continue }
      if count <= 0 { throw SystemError("write", path) }
      written += count
    }
    try file.sync()
  }
}
