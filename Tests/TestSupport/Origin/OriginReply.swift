import Glibc

/// `POLLRDHUP`, which Glibc's module leaves out.
private let pollReadHangUp: Int16 = 0x2000

/// What a handler says back, byte for byte. Lives on its connection's thread and may block it.
package final class OriginReply {
  /// The other side went away, or the server was stopped.
  package struct PeerGone: Error, CustomStringConvertible {
    package let code: Int32
    package var description: String { "peer gone: \(String(cString: strerror(code)))" }
  }

  /// What happens to the connection when the handler returns.
  enum Ending {
    /// The next request may come on the same connection, unless this one said `Connection: close`.
    case keepAlive
    case close
    case reset
  }

  private(set) var ending = Ending.keepAlive
  private let socket: Int32
  private let number: Int
  private let log: Watched<OriginLog>

  init(socket: Int32, number: Int, log: Watched<OriginLog>) {
    self.socket = socket
    self.number = number
    self.log = log
  }

  /// Writes a status line and fields verbatim; line ends become CRLF and the empty line is added.
  ///
  /// Nothing is made up and nothing checked: what is written may be as wrong as the test wants.
  package func head(_ text: String) throws {
    let lines = text.split(separator: "\n", omittingEmptySubsequences: true)
      .map { $0.hasSuffix("\r") ? String($0.dropLast()) : String($0) }
    let status = lines.first?.split(separator: " ").dropFirst().first.flatMap { Int($0) }
    try transmit(Array((lines.joined(separator: "\r\n") + "\r\n\r\n").utf8))
    log.update { $0.answered(number, status: status) }
  }

  /// Writes these bytes as they are.
  package func body(_ bytes: [UInt8]) throws {
    try transmit(bytes)
    log.update { $0.wrote(number, bytes: bytes.count) }
  }

  package func body(_ text: String) throws {
    try body(Array(text.utf8))
  }

  /// Writes one chunk of a chunked body (RFC 9112 §7.1); an empty one is the last chunk.
  package func chunk(_ bytes: [UInt8]) throws {
    try body(Array("\(String(bytes.count, radix: 16))\r\n".utf8) + bytes + [13, 10])
  }

  /// Blocks until the test opens the gate.
  package func wait(for gate: Gate) throws {
    try gate.waitBlocking()
  }

  /// Writes these bytes over and over, until the client has had enough.
  package func flood(_ text: String) throws {
    while true { try body(text) }
  }

  /// Writes one byte, waits that long, and so on, until the client has had enough.
  package func drip(_ text: String, every interval: Duration) throws {
    for byte in text.utf8 {
      try body([byte])
      if (try? waitUntilPeerCloses(within: interval)) != nil { return }
    }
  }

  /// Blocks until the client has closed its side or reset the connection.
  package func waitUntilPeerCloses(within limit: Duration = .seconds(60) * patience) throws {
    var entry = pollfd(fd: socket, events: pollReadHangUp, revents: 0)
    guard poll(&entry, 1, Int32(limit / .milliseconds(1))) > 0 else {
      throw TimedOut(what: "the client to close its connection", limit: limit)
    }
  }

  /// Ends the connection in order when the handler returns.
  package func close() {
    ending = .close
  }

  /// Ends the connection with a RST when the handler returns.
  ///
  /// What was written before has reached the other side's kernel by then.
  package func reset() throws {
    try waitUntilDelivered()
    ending = .reset
  }

  private func transmit(_ bytes: [UInt8]) throws {
    var rest = bytes[...]
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes {
        send(socket, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
      }
      guard count > 0 else {
        if errno == EINTR { continue }
        throw PeerGone(code: errno)
      }
      rest = rest.dropFirst(count)
    }
  }

  /// A RST drops what is not yet acknowledged, and there is no event for "all acknowledged".
  private func waitUntilDelivered() throws {
    try eventuallyBlocking("everything written to be acknowledged") {
      var unsent: Int32 = 0
      guard ioctl(socket, UInt(TIOCOUTQ), &unsent) == 0 else { throw PeerGone(code: errno) }
      return unsent == 0
    }
  }
}
