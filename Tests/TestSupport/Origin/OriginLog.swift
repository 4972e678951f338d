/// What an ``OriginServer`` has seen and sent so far.
package struct OriginLog: Sendable {
  /// One request and what became of it.
  package struct Exchange: Sendable {
    package let request: OriginRequest
    /// Of the last head written; nil before the first.
    package fileprivate(set) var status: Int?
    /// Bytes given to the kernel after the head, framing of chunks included.
    package fileprivate(set) var sent: Int64 = 0
    /// True as soon as the handler has returned or failed.
    package fileprivate(set) var isOver = false
    /// Why the handler failed, such as the peer having gone; nil if it did not.
    package fileprivate(set) var failure: String?
  }

  /// In the order of arrival: request `n` is at `n - 1`.
  package private(set) var exchanges: [Exchange] = []
  package private(set) var connections = 0
  /// Requests whose handler is at work now, and the most there ever were at once.
  package private(set) var running = 0
  package private(set) var peak = 0

  /// Bytes sent after heads, of all requests or of those for one path.
  package func sent(path: String? = nil) -> Int64 {
    exchanges.reduce(0) { path == nil || $1.request.path == path ? $0 + $1.sent : $0 }
  }

  mutating func connected() -> Int {
    connections += 1
    return connections
  }

  mutating func arrived(head: String, connection: Int) -> OriginRequest? {
    let number = exchanges.count + 1
    guard let request = OriginRequest(head: head, number: number, connection: connection) else {
      return nil
    }
    exchanges.append(Exchange(request: request))
    running += 1
    peak = max(peak, running)
    return request
  }

  mutating func answered(_ number: Int, status: Int?) {
    exchanges[number - 1].status = status
  }

  mutating func wrote(_ number: Int, bytes: Int) {
    exchanges[number - 1].sent += Int64(bytes)
  }

  mutating func over(_ number: Int, failure: String?) {
    exchanges[number - 1].isOver = true
    exchanges[number - 1].failure = failure
    running -= 1
  }
}
