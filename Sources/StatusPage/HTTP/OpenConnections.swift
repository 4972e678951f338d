import Glibc
import Synchronization

/// Tracks the connections of an HTTP server, so that slow clients cannot block others.
///
/// A client has a fixed time to send a whole request and a fixed time to read the response. If there is no room for a new
/// connection, the server ends the connection that has kept it waiting longest, so that a health check gets through. This type
/// ends a connection with shutdown(2). libmicrohttpd then closes it.
final class OpenConnections: Sendable {
  struct Limits: Sendable {
    /// The time for a request's head and body, from the start of the connection or the end of the previous request.
    var request = Duration.seconds(20)
    /// The time for reading a response.
    var answer = Duration.seconds(60)
    /// The maximum number of connections from one address. `total` is the maximum number from all addresses.
    var perAddress = 64
    var total = 128
  }

  /// The activity of a connection. To make room, the server ends a connection in `reading`, or one in `sending` if none is in
  /// `reading`. It never ends one in `answering`.
  enum Phase: Int, Sendable {
    /// The server waits for a request, or receives it.
    case reading
    /// The server sends the response.
    case sending
    /// The server prepares the response. This state has no time limit, because the client cannot delay it.
    case answering
  }

  private struct Connection {
    let socket: Int32
    let address: [UInt8]
    var phase = Phase.reading
    var since: ContinuousClock.Instant
    /// Whether shutdown(2) was called.
    var isEnded = false
  }

  private let limits: Limits
  private let connections = Mutex<[Int: Connection]>([:])

  init(_ limits: Limits) { self.limits = limits }

  /// Adds a connection. `id` must be unique until ``remove(_:)``.
  func add(_ id: Int, socket: Int32, address: [UInt8], at now: ContinuousClock.Instant = .now) {
    connections.withLock { connections in
      let open = connections.filter { !$0.value.isEnded }
      let near = open.filter { $0.value.address == address }
      let crowd =
        near.count >= limits.perAddress ? near : open.count >= limits.total ? open : [:]
      let longest = crowd.filter { $0.value.phase != .answering }.min {
        ($0.value.phase.rawValue, $0.value.since) < ($1.value.phase.rawValue, $1.value.since)
      }
      if let longest { Self.end(longest.key, in: &connections) }
      connections[id] = Connection(socket: socket, address: address, since: now)
    }
  }

  /// Removes a connection. Call it before the socket is closed.
  func remove(_ id: Int) { connections.withLock { $0[id] = nil } }

  func set(_ id: Int, _ phase: Phase, at now: ContinuousClock.Instant = .now) {
    connections.withLock {
      $0[id]?.phase = phase
      $0[id]?.since = now
    }
  }

  /// Ends connections whose time has passed.
  func endLate(at now: ContinuousClock.Instant = .now) {
    connections.withLock { connections in
      for (id, connection) in connections where !connection.isEnded {
        let limit: Duration? =
          switch connection.phase {
          case .reading: limits.request
          case .sending: limits.answer
          case .answering: nil
          }
        if let limit, connection.since.duration(to: now) >= limit { Self.end(id, in: &connections) }
      }
    }
  }

  private static func end(_ id: Int, in connections: inout [Int: Connection]) {
    guard let socket = connections[id]?.socket else { return }
    connections[id]?.isEnded = true
    shutdown(socket, Int32(SHUT_RDWR))
  }

  /// Returns the address of the peer without its port. Empty if the kernel does not know the address.
  static func peer(of socket: Int32) -> [UInt8] {
    var storage = sockaddr_in6()
    var length = socklen_t(MemoryLayout<sockaddr_in6>.size)
    let status = unsafe withUnsafeMutablePointer(to: &storage) {
      unsafe $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        unsafe getpeername(socket, $0, &length)
      }
    }
    guard status == 0 else { return [] }
    let address = storage.sin6_family == sa_family_t(AF_INET) ? 4..<8 : 8..<24
    return unsafe withUnsafeBytes(of: &storage) { unsafe Array($0[address]) }
  }
}
