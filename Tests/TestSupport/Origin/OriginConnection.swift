import Glibc

/// One connection of an ``OriginServer``: reads requests one after another and lets the handler answer.
struct OriginConnection {
  let socket: Int32
  let greeting: String
  let log: Watched<OriginLog>
  let handler: OriginServer.Handler

  /// Returns when the connection is over. The caller closes the socket.
  func serve() {
    setOption(Int32(IPPROTO_TCP), TCP_NODELAY, Int32(1))
    let connection = log.update { $0.connected() }
    _ = sendAll(Array(greeting.utf8), to: socket)
    var received: [UInt8] = []
    while let head = nextHead(&received) {
      guard var request = log.update({ $0.arrived(head: head, connection: connection) }),
        let body = nextBody(of: request, &received)
      else { break }
      request.body = body
      let reply = OriginReply(socket: socket, number: request.number, log: log)
      var failure: String?
      do {
        try handler(request, reply)
      } catch {
        failure = String(describing: error)
      }
      finish(reply)
      log.update { $0.over(request.number, failure: failure) }
      let last = request[field: "Connection"]?.lowercased() == "close"
      guard failure == nil, case .keepAlive = reply.ending, !last else { break }
    }
  }

  /// The peer learns of the end before the log does.
  private func finish(_ reply: OriginReply) {
    switch reply.ending {
    case .keepAlive: break
    case .close: shutdown(socket, Int32(SHUT_WR))
    case .reset: abort()
    }
  }

  /// Disconnecting sends the RST (connect(2), AF_UNSPEC), and the descriptor stays ours to close.
  private func abort() {
    var nobody = sockaddr(sa_family: sa_family_t(AF_UNSPEC), sa_data: sockaddr().sa_data)
    connect(socket, &nobody, socklen_t(MemoryLayout<sockaddr>.size))
  }

  private func setOption<Value>(_ level: Int32, _ option: Int32, _ value: Value) {
    withUnsafeBytes(of: value) {
      _ = setsockopt(socket, level, option, $0.baseAddress, socklen_t($0.count))
    }
  }

  /// The body that the head announces; nil when the peer has ended or broken the connection before.
  private func nextBody(of request: OriginRequest, _ received: inout [UInt8]) -> [UInt8]? {
    let length = request[field: "Content-Length"].flatMap { Int($0) } ?? 0
    while received.count < length { guard receive(&received) else { return nil } }
    defer { received.removeFirst(length) }
    return Array(received.prefix(length))
  }

  /// The bytes before the next empty line; nil when the peer has ended or broken the connection.
  private func nextHead(_ received: inout [UInt8]) -> String? {
    let end: [UInt8] = [13, 10, 13, 10]
    while true {
      if let found = received.firstRange(of: end) {
        defer { received.removeSubrange(..<found.upperBound) }
        return String(decoding: received[..<found.lowerBound], as: UTF8.self)
      }
      guard receive(&received) else { return nil }
    }
  }

  /// Appends what comes next; false when the peer has ended or broken the connection.
  private func receive(_ received: inout [UInt8]) -> Bool {
    while true {
      var piece = [UInt8](repeating: 0, count: 16384)
      let count = piece.withUnsafeMutableBytes { recv(socket, $0.baseAddress, $0.count, 0) }
      if count < 0 && errno == EINTR { continue }
      guard count > 0 else { return false }
      received.append(contentsOf: piece[..<count])
      return true
    }
  }
}
