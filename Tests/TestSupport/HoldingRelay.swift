import Foundation
import Glibc

/// Stands before a server on 127.0.0.1 and holds its first large answer in the middle, whatever protocol it speaks.
package final class HoldingRelay: Sendable {
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

  /// - Parameter limit: so many bytes of the server's pass on each connection before the first is held.
  package init(to server: UInt16, holdingAfter limit: Int) throws {
    listener = try loopbackSocket(address: "127.0.0.1")
    guard listen(listener, 64) == 0 else { throw POSIXError.last }
    port = try boundPort(of: listener)
    let (listener, state) = (listener, state)
    Thread.detachNewThread {
      while let client = accepted(from: listener) {
        Thread.detachNewThread { Self.relay(client, to: server, holdingAfter: limit, state) }
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

  /// Lets the held connection, and all later ones, pass or breaks it. Once.
  package func release(_ release: Release) { state.update { $0.release = release } }

  private static func relay(
    _ client: Int32, to port: UInt16, holdingAfter limit: Int, _ state: Watched<State>
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
    var passed = 0
    while let piece = received(from: server), sendAll(piece, to: client) {
      passed += piece.count
      guard passed >= limit, hold(state) == .cut else { continue }
      break
    }
    for socket in [client, server] { shutdown(socket, Int32(SHUT_RDWR)) }
    try? asked.waitBlocking()
    for socket in [client, server] { close(socket) }
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
