internal import Glibc
internal import HaulCLinux
import HaulSystem

/// Reads small files with secrets. Haul accepts a file only if no user except its owner may read it. If root owns the file, the
/// file's group may read it, too. Service managers provide secrets with these rights (systemd's LoadCredential=, a Kubernetes
/// secret with fsGroup), and libpq accepts key files with these rights (sslkey).
package enum SecretFile {
  /// The reason why a file is not accepted. The description is a clause without a full stop and omits the file's content.
  package struct Problem: Error, Sendable, Hashable, CustomStringConvertible {
    package let description: String

    package init(_ description: String) { self.description = description }
  }

  /// The largest allowed size in bytes.
  private static let largest = 1 << 20

  /// Returns the content of the file. Blocks.
  package static func read(_ path: String) throws(Problem) -> String {
    let raw = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    guard raw >= 0 else { throw unreadable(path, errno) }
    let file = FileDescriptor(owning: raw)
    var found = stat()
    guard unsafe fstat(raw, &found) == 0, found.st_mode & S_IFMT == S_IFREG else {
      throw Problem("\(path) is not a file")
    }
    guard found.st_mode & (found.st_uid == 0 ? 0o037 : 0o077) == 0 else {
      let isOurs = [found.st_uid, 0].contains(geteuid())
      throw Problem(
        "\(path) contains secrets, but other users may read it: "
          + (isOurs
            ? "run 'chmod 600 \(shellWord(path))'"
            : "as root, run 'chown \(SystemUser.ownWord) \(shellWord(path)) && chmod 600 \(shellWord(path))'")
      )
    }
    guard found.st_size <= largest else { throw Problem("\(path) is larger than 1 MiB") }
    let bytes = unsafe [UInt8](unsafeUninitializedCapacity: largest) { buffer, count in
      while true {
        let rest = unsafe UnsafeMutableRawBufferPointer(
          rebasing: unsafe UnsafeMutableRawBufferPointer(buffer)[count...])
        let got = unsafe Glibc.read(raw, rest.baseAddress, rest.count)
        if got < 0 && errno == EINTR { continue }
        if got <= 0 { break }
        count += got
      }
    }
    withExtendedLifetime(file) {}
    guard let text = String(validating: bytes, as: UTF8.self), !text.utf8.contains(0) else {
      throw Problem("\(path) is not text in UTF-8")
    }
    return text
  }

  /// Returns the problem for the system error `number` (errno(3)), which a file with secrets or its directory caused.
  package static func unreadable(_ path: String, _ number: Int32) -> Problem {
    guard number == EACCES else {
      return Problem("cannot read \(path): \(SystemError.reason(number))")
    }
    var found = stat()
    guard unsafe stat(path, &found) == 0 else {
      return Problem(
        "cannot read \(path): this user has no permission to enter a directory in this path")
    }
    let name = shellWord(path)
    let right = found.st_mode & S_IFMT == S_IFDIR ? "700" : "600"
    return Problem(
      "cannot read \(path): this user has no permission; "
        + (found.st_uid == geteuid()
          ? "run 'chmod \(right) \(name)'"
          : "as root, run 'chown \(SystemUser.ownWord) \(name)'"))
  }
}
