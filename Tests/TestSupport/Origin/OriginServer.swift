import Foundation
import Glibc
import Synchronization

/// A scripted HTTP/1.1 origin inside the test process, on a loopback address and a port of its own.
///
/// The handler runs on a thread per connection, may block, and writes whatever it likes:
///
///     let origin = try OriginServer { request, reply in
///       try reply.head("HTTP/1.1 200 OK\nContent-Length: 10")
///       try reply.body("1234")
///       try reply.reset()
///     }
///
/// What belongs to correct answers (validators, ranges) is in ``Representation``. Request bodies are not read.
package final class OriginServer: Sendable {
  /// What it throws ends the connection and is kept in the exchange's `failure`.
  package typealias Handler = @Sendable (OriginRequest, OriginReply) throws -> Void

  /// As in a URL: IPv6 without brackets.
  package let address: String
  package let port: UInt16
  /// Everything seen and sent; wait on it for what the shorthands below do not cover.
  package let log = Watched(OriginLog())
  private let listener: Int32
  private let connections = OpenConnections()

  /// - Parameters:
  ///   - address: any of 127.0.0.0/8, to be several hosts at once, or `::1`.
  ///   - greeting: sent on each new connection, before anything was asked.
  ///   - handler: called for each request, on the thread of its connection.
  /// - Throws: `POSIXError` when no socket can be had.
  package convenience init(
    address: String = "127.0.0.1", greeting: String = "", handler: @escaping Handler
  ) throws {
    try self.init(
      listener: loopbackSocket(address: address), address: address, greeting: greeting,
      handler: handler)
  }

  /// An origin that comes back: listens where connections were refused before.
  package convenience init(_ closed: ClosedPort, handler: @escaping Handler) throws {
    try self.init(listener: dup(closed.socket), address: closed.address, handler: handler)
  }

  private init(
    listener: Int32, address: String, greeting: String = "", handler: @escaping Handler
  ) throws {
    self.address = address
    self.listener = listener
    guard listen(listener, 1024) == 0 else { throw POSIXError.last }
    port = try boundPort(of: listener)
    let (listener, log, connections) = (listener, log, connections)
    Thread.detachNewThread {
      while let socket = accepted(from: listener) {
        guard connections.insert(socket) else { break }
        Thread.detachNewThread {
          OriginConnection(socket: socket, greeting: greeting, log: log, handler: handler).serve()
          connections.close(socket)
        }
      }
      Glibc.close(listener)
    }
  }

  deinit {
    stop()
  }

  /// Stops listening and breaks all connections. Stopping twice is no error.
  package func stop() {
    guard connections.end() else { return }
    shutdown(listener, Int32(SHUT_RDWR))
  }

  /// `address:port`, the host of the URLs.
  package var host: String { address.contains(":") ? "[\(address)]:\(port)" : "\(address):\(port)" }

  package func url(_ target: String) -> String {
    "http://\(host)\(target)"
  }

  /// Waits until the request of that number, counted from 1, has arrived.
  package func request(
    _ number: Int, within limit: Duration = .seconds(30)
  ) async throws -> OriginRequest {
    try await log.first("request \(number) at \(host)", within: limit) {
      $0.exchanges.count >= number ? $0.exchanges[number - 1].request : nil
    }
  }

  /// Waits until the handler of that request is through with it.
  package func exchange(
    _ number: Int, within limit: Duration = .seconds(30)
  ) async throws -> OriginLog.Exchange {
    try await log.first("the end of request \(number) at \(host)", within: limit) {
      guard $0.exchanges.count >= number, $0.exchanges[number - 1].isOver else { return nil }
      return $0.exchanges[number - 1]
    }
  }

  /// Waits until that many bytes after the heads were sent, of all answers or of those for one path.
  package func sent(
    _ bytes: Int64, path: String? = nil, within limit: Duration = .seconds(30)
  ) async throws {
    try await log.first("\(bytes) bytes sent by \(host)", within: limit) {
      $0.sent(path: path) >= bytes ? () : nil
    }
  }
}

/// A port on which nobody listens and nobody else will: connections to it are refused.
package final class ClosedPort: Sendable {
  package let address: String
  package let port: UInt16
  fileprivate let socket: Int32

  /// - Throws: `POSIXError` when no socket can be had.
  package init(address: String = "127.0.0.1") throws {
    self.address = address
    socket = try loopbackSocket(address: address)
    port = try boundPort(of: socket)
  }

  deinit {
    close(socket)
  }
}

/// The sockets of a server, so that stopping it reaches every thread.
private final class OpenConnections: Sendable {
  private struct State {
    var sockets: Set<Int32> = []
    var ended = false
  }

  private let state = Mutex(State())

  /// - Returns: false when the server was stopped; the socket is closed then.
  func insert(_ socket: Int32) -> Bool {
    state.withLock { state in
      if state.ended { Glibc.close(socket) } else { state.sockets.insert(socket) }
      return !state.ended
    }
  }

  /// Under the lock, so that ``end()`` never meets a number that was given out anew.
  func close(_ socket: Int32) {
    state.withLock { state in
      state.sockets.remove(socket)
      Glibc.close(socket)
    }
  }

  /// - Returns: false if it was ended before.
  func end() -> Bool {
    state.withLock { state in
      defer { state.ended = true }
      for socket in state.sockets { shutdown(socket, Int32(SHUT_RDWR)) }
      return !state.ended
    }
  }
}

func accepted(from listener: Int32) -> Int32? {
  while true {
    let socket = accept(listener, nil, nil)
    if socket >= 0 {
      // Programs started by tests must not keep the connection open.
      _ = fcntl(socket, F_SETFD, FD_CLOEXEC)
      return socket
    }
    if errno != EINTR && errno != ECONNABORTED { return nil }
  }
}

/// A TCP socket bound to a free port of that address.
func loopbackSocket(address: String) throws -> Int32 {
  let family = address.contains(":") ? AF_INET6 : AF_INET
  let socket = Glibc.socket(family, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
  guard socket >= 0 else { throw POSIXError.last }
  let bound = withSocketAddress(address, port: 0) { bind(socket, $0, $1) }
  guard bound == 0 else { throw POSIXError.last }
  return socket
}

/// Calls `body` with the address as connect(2) and bind(2) want it.
func withSocketAddress(
  _ address: String, port: UInt16, _ body: (UnsafePointer<sockaddr>?, socklen_t) -> Int32
) -> Int32 {
  func pass(_ bytes: UnsafeRawBufferPointer) -> Int32 {
    body(bytes.assumingMemoryBound(to: sockaddr.self).baseAddress, socklen_t(bytes.count))
  }
  if address.contains(":") {
    var name = sockaddr_in6()
    name.sin6_family = sa_family_t(AF_INET6)
    name.sin6_port = port.bigEndian
    inet_pton(AF_INET6, address, &name.sin6_addr)
    return withUnsafeBytes(of: &name, pass)
  }
  var name = sockaddr_in()
  name.sin_family = sa_family_t(AF_INET)
  name.sin_port = port.bigEndian
  name.sin_addr.s_addr = inet_addr(address)
  return withUnsafeBytes(of: &name, pass)
}

func boundPort(of socket: Int32) throws -> UInt16 {
  // The port lies at the same offset in sockaddr_in.
  var name = sockaddr_in6()
  var size = socklen_t(MemoryLayout<sockaddr_in6>.size)
  let result = withUnsafeMutableBytes(of: &name) {
    getsockname(socket, $0.assumingMemoryBound(to: sockaddr.self).baseAddress, &size)
  }
  guard result == 0 else { throw POSIXError.last }
  return UInt16(bigEndian: name.sin6_port)
}

extension POSIXError {
  /// What `errno` says now.
  static var last: POSIXError { POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }
}
