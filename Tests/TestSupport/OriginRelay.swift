import Dispatch
import Foundation
import Glibc

/// Stands before a server on 127.0.0.1 and ends its answers early, whatever protocol it speaks.
package final class OriginRelay: Sendable {
  /// Listens on 127.0.0.1, too.
  package let port: UInt16
  private let listener: Int32

  /// - Parameter limit: so many bytes of the server's on each connection are passed on, and then its end.
  package init(to server: UInt16, endingAfter limit: Int) throws {
    listener = try loopbackSocket(address: "127.0.0.1")
    guard listen(listener, 64) == 0 else { throw POSIXError.last }
    port = try boundPort(of: listener)
    let listener = listener
    Thread.detachNewThread {
      while let client = accepted(from: listener) {
        Thread.detachNewThread { Self.relay(client, to: server, endingAfter: limit) }
      }
      close(listener)
    }
  }

  deinit {
    shutdown(listener, Int32(SHUT_RDWR))
  }

  private static func relay(_ client: Int32, to port: UInt16, endingAfter limit: Int) {
    let server = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    let asked = DispatchSemaphore(value: 0)
    _ = withSocketAddress("127.0.0.1", port: port) { connect(server, $0, $1) }
    Thread.detachNewThread {
      while let piece = received(from: client), sendAll(piece, to: server) {}
      shutdown(server, Int32(SHUT_WR))
      asked.signal()
    }
    var left = limit
    while left > 0, let piece = received(from: server),
      sendAll(Array(piece.prefix(left)), to: client)
    {
      left -= piece.count
    }
    for socket in [client, server] { shutdown(socket, Int32(SHUT_RDWR)) }
    asked.wait()
    for socket in [client, server] { close(socket) }
  }
}
