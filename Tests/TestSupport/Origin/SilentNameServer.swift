import Foundation
import Glibc

/// A name server that answers nothing, and programs that have no other.
///
/// Programs get it by a `resolv.conf` of their own, in a mount namespace of their own: only root can do that.
package final class SilentNameServer: Sendable {
  private let socket: Int32
  private let directory: TemporaryDirectory

  package static var isPossible: Bool { geteuid() == 0 }

  /// - Throws: `POSIXError` where port 53 of 127.0.0.77 cannot be had.
  package init() throws {
    socket = Glibc.socket(AF_INET, Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    let bound = withSocketAddress("127.0.0.77", port: 53) { [socket] in bind(socket, $0, $1) }
    guard bound == 0 else { throw POSIXError.last }
    directory = try TemporaryDirectory()
    // Longer than anybody waits: so the time-out that is met is the program's own.
    try directory.write("nameserver 127.0.0.77\noptions timeout:30 attempts:5\n", to: "resolv.conf")
  }

  deinit {
    close(socket)
  }

  /// Starts `haul` with these arguments as a program that asks this server.
  package func start(
    _ arguments: [String], environment: [String: String], in place: String
  ) throws -> HaulProcess {
    let script = "mount --bind \"$0\" /etc/resolv.conf && exec \"$@\""
    return try HaulProcess(
      ["--mount", "sh", "-c", script, directory.path("resolv.conf"), HaulProcess.path] + arguments,
      program: "unshare", environment: environment, directory: place)
  }
}
