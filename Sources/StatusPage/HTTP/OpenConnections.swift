import Glibc
import Synchronization

/// The connections that an HTTP server has, so that slow ones keep nobody out.
///
/// A connection has a time for a whole request and a time to take the answer, however many bytes come or go meanwhile. Where
/// there is no room for a new one, the one that has kept the server waiting longest makes room: a health check always gets an
/// answer. Ending a connection is shutdown(2); its owner sees the end and closes it.
final class OpenConnections: Sendable {
  struct Limits: Sendable {
    /// For a request's head and body, from the connection's begin or the end of the request before.
    var request = Duration.seconds(20)
    /// For taking an answer.
    var answer = Duration.seconds(60)
    /// The most connections of one address, and of all.
    var perAddress = 64
    var total = 128
  }

  /// What a connection does. Those that come first make room first.
  enum Phase: Int, Sendable {
    /// A request is awaited, or not yet whole.
    case reading
    /// The answer is being sent.
    case sending
    /// The answer is being made; the server's own time, which has no limit here.
    case answering
  }

  private struct Connection {
    let socket: Int32
    let address: [UInt8]
    var phase = Phase.reading
    var since: ContinuousClock.Instant
    /// shutdown(2) has been called.
    var isEnded = false
  }

  private let limits: Limits
  private let connections = Mutex<[Int: Connection]>([:])

  init(_ limits: Limits) { self.limits = limits }

  /// Takes up a connection by any number that is its own until ``remove(_:)``.
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

  /// Must have returned before the socket is closed.
  func remove(_ id: Int) { connections.withLock { $0[id] = nil } }

  func set(_ id: Int, _ phase: Phase, at now: ContinuousClock.Instant = .now) {
    connections.withLock {
      $0[id]?.phase = phase
      $0[id]?.since = now
    }
  }

  /// Ends those whose time is up.
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

  /// The address at the other end of `socket`, without its port; empty where the kernel does not say.
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
