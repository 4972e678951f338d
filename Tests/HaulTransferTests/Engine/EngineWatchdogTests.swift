import Foundation
import Testing

@testable import HaulTransfer

/// A turn of the engine thread's that takes too long, by a clock of the test's.
struct EngineWatchdogTests {
  private let watch = EngineWatchdog(limit: .seconds(10))
  private let start = ContinuousClock.now

  /// Two sockets that are connected with each other.
  private func pair() -> (mine: Int32, other: Int32) {
    var ends: [Int32] = [-1, -1]
    #expect(unsafe socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &ends) == 0)
    return (ends[0], ends[1])
  }

  private func isBroken(_ socket: Int32) -> Bool {
    var byte: UInt8 = 0
    return unsafe recv(socket, &byte, 1, Int32(MSG_DONTWAIT)) == 0
  }

  @Test func `its connections are broken once the time is over`() {
    let (mine, other) = pair()
    watch.opened(mine)
    watch.begin(now: start)
    watch.look(now: start + .seconds(9))
    #expect(!isBroken(other))
    watch.look(now: start + .seconds(10))
    #expect(isBroken(other))
    watch.close(mine)
    close(other)
  }

  @Test func `a thread that waits, or begins anew, takes no time`() {
    let (mine, other) = pair()
    watch.opened(mine)
    watch.begin(now: start)
    watch.end()
    watch.look(now: start + .seconds(60))
    watch.begin(now: start + .seconds(60))
    watch.begin(now: start + .seconds(65))
    watch.look(now: start + .seconds(70))
    #expect(!isBroken(other))
    watch.close(mine)
    close(other)
  }

  @Test func `a socket that is closed is not broken, whoever has its number by then`() {
    let (mine, other) = pair()
    let (later, peer) = pair()
    watch.opened(mine)
    watch.close(mine)
    #expect(isBroken(other))
    #expect(dup2(later, mine) == mine)
    watch.begin(now: start)
    watch.look(now: start + .seconds(10))
    #expect(!isBroken(peer))
    for socket in [other, mine, later, peer] { close(socket) }
  }
}
