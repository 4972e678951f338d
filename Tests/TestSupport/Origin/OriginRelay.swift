import Foundation
import Glibc

/// Stands before a server on 127.0.0.1 and does something to its answers, whatever protocol it speaks.
package final class OriginRelay: Sendable {
  /// What is done, on each connection.
  package enum Deed: Sendable {
    /// So many of the server's bytes are passed on, and then its end.
    case end(after: Int)
    /// All is passed on up to the first alert of TLS 1.2, such as close_notify, and then the server's end.
    case endBeforeAlert
    /// After so many the first connection is held until ``release(_:)``; all others go on.
    case hold(after: Int)
  }

  /// What becomes of the connection that is held.
  package enum Release: Sendable {
    case goOn
    case cut
  }

  private struct State: Sendable {
    var isHeld = false
    var release: Release?
  }

  /// Listens on 127.0.0.1, too.
  package let port: UInt16
  private let state = Watched(State())
  private let listener: Int32

  package init(to server: UInt16, _ deed: Deed) throws {
    listener = try loopbackSocket(address: "127.0.0.1")
    guard listen(listener, 64) == 0 else { throw POSIXError.last }
    port = try boundPort(of: listener)
    let (listener, state) = (listener, state)
    Thread.detachNewThread {
      while let client = accepted(from: listener) {
        Thread.detachNewThread { Self.relay(client, to: server, deed, state) }
      }
      close(listener)
    }
  }

  deinit {
    state.update { $0.release = .cut }
    shutdown(listener, Int32(SHUT_RDWR))
  }

  /// Waits until a connection is held.
  package func held() async throws {
    try await state.first("an answer held in its middle") { $0.isHeld ? () : nil }
  }

  /// Lets the held connection go on or cuts it. Once.
  package func release(_ release: Release) { state.update { $0.release = release } }

  private static func relay(
    _ client: Int32, to port: UInt16, _ deed: Deed, _ state: Watched<State>
  ) {
    guard let server = connected(toPort: port) else {
      close(client)
      return
    }
    // A small buffer, so that the server cannot have sent the rest already.
    var size: Int32 = 65_536
    setsockopt(server, SOL_SOCKET, SO_RCVBUF, &size, socklen_t(MemoryLayout<Int32>.size))
    let asked = Gate("the client's side to be over")
    Thread.detachNewThread {
      while let piece = received(from: client), sendAll(piece, to: server) {}
      shutdown(server, Int32(SHUT_WR))
      asked.open()
    }
    pass(from: server, to: client, deed, state)
    for socket in [client, server] { shutdown(socket, Int32(SHUT_RDWR)) }
    try? asked.waitBlocking()
    for socket in [client, server] { close(socket) }
  }

  /// Returns at the end of what is passed on.
  private static func pass(
    from server: Int32, to client: Int32, _ deed: Deed, _ state: Watched<State>
  ) {
    var passed = 0
    var kept: [UInt8] = []
    while let piece = received(from: server) {
      kept += piece
      var isEnd = false
      var count = kept.count
      switch deed {
      case .end(let limit): (count, isEnd) = (min(count, limit - passed), passed + count >= limit)
      case .endBeforeAlert: (count, isEnd) = recordsBeforeAlert(kept)
      case .hold: break
      }
      guard sendAll(Array(kept.prefix(count)), to: client) else { return }
      kept.removeFirst(count)
      passed += count
      if case .hold(let limit) = deed, passed >= limit { isEnd = hold(state) == .cut }
      if isEnd { return }
    }
  }

  /// How many bytes the whole records of TLS take, and whether an alert comes next (RFC 5246 §6.2.1).
  private static func recordsBeforeAlert(_ bytes: [UInt8]) -> (count: Int, isAlert: Bool) {
    var start = 0
    while bytes.count >= start + 5 {
      if bytes[start] == 21 { return (start, true) }
      let end = start + 5 + Int(bytes[start + 3]) * 256 + Int(bytes[start + 4])
      if end > bytes.count { break }
      start = end
    }
    return (start, false)
  }

  /// Waits for the release where this is the first to be held; all others go on.
  private static func hold(_ state: Watched<State>) -> Release {
    let isFirst = state.update { state in
      defer { state.isHeld = true }
      return !state.isHeld
    }
    guard isFirst else { return .goOn }
    try? state.firstBlocking("the release of an answer") { $0.release != nil }
    return state.value.release ?? .cut
  }
}
