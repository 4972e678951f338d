import Foundation
import Glibc
import TestSupport

/// A socket where a PostgreSQL server would listen; takes connections and never says a word.
final class SilentServer: Sendable {
  private let directory: TemporaryDirectory
  private let descriptor: Int32

  /// For `host=`: the directory the socket lies in.
  var host: String { directory.path }

  init() throws {
    directory = try TemporaryDirectory()
    descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &address.sun_path) {
      $0.copyBytes(from: directory.path(".s.PGSQL.5432").utf8)
    }
    let status = withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
      }
    }
    guard status == 0, listen(descriptor, 8) == 0 else {
      throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO)
    }
  }

  deinit {
    close(descriptor)
  }
}
