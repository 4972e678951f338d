import Testing

@testable import Worker

struct LeaseClockTests {
  let start = ContinuousClock.now

  func at(_ seconds: Double) -> ContinuousClock.Instant { start + .seconds(seconds) }

  @Test func `leases are good for one expiry from the sending of the heartbeat`() {
    var clock = LeaseClock(sent: start, expiry: .seconds(15))
    #expect(clock.remaining(now: at(4)) == .seconds(11))
    #expect(clock.acknowledged(sent: at(5), expiry: .seconds(15), now: at(9)) == nil)
    #expect(clock.remaining(now: at(9)) == .seconds(11))
  }

  @Test func `a late acknowledgement of an older heartbeat takes nothing back`() {
    var clock = LeaseClock(sent: start, expiry: .seconds(15))
    _ = clock.acknowledged(sent: at(6), expiry: .seconds(15), now: at(7))
    _ = clock.acknowledged(sent: at(2), expiry: .seconds(15), now: at(8))
    #expect(clock.remaining(now: at(8)) == .seconds(13))
  }

  @Test func `without session and heartbeat transfers pause before the worker counts as dead`() {
    var clock = LeaseClock(sent: start, expiry: .seconds(15))
    clock.session(isThere: false)
    #expect(clock.look(now: at(2.4)) == nil)
    #expect(clock.look(now: at(2.5)) == .suspend)
    #expect(clock.look(now: at(3)) == nil)
    #expect(clock.standing == .suspended)
  }

  @Test func `with its session a worker goes on until shortly before the expiry`() {
    var clock = LeaseClock(sent: start, expiry: .seconds(15))
    #expect(clock.look(now: at(13.9)) == nil)
    #expect(clock.look(now: at(14)) == .fence)
    #expect(clock.look(now: at(20)) == nil)
  }

  @Test func `a heartbeat confirms what was suspended`() {
    var clock = LeaseClock(sent: start, expiry: .seconds(15))
    clock.session(isThere: false)
    #expect(clock.look(now: at(3)) == .suspend)
    clock.session(isThere: true)
    #expect(clock.acknowledged(sent: at(4), expiry: .seconds(15), now: at(4.1)) == .resume)
    #expect(clock.standing == .confirmed)
  }

  @Test func `suspended by its user it waits for a heartbeat, or has stopped if that was too long`()
  {
    var clock = LeaseClock(sent: start, expiry: .seconds(15))
    #expect(clock.suspend() == .suspend)
    #expect(clock.suspend() == nil)
    #expect(clock.look(now: at(10)) == nil)
    #expect(clock.acknowledged(sent: at(10), expiry: .seconds(15), now: at(10)) == .resume)
    #expect(clock.suspend() == .suspend)
    #expect(clock.look(now: at(24)) == .fence)
    #expect(clock.suspend() == nil)
  }

  @Test func `the session alone confirms nothing: the leases may have been rescued meanwhile`() {
    var clock = LeaseClock(sent: start, expiry: .seconds(15))
    clock.session(isThere: false)
    #expect(clock.look(now: at(3)) == .suspend)
    clock.session(isThere: true)
    #expect(clock.look(now: at(5)) == nil)
    #expect(clock.standing == .suspended)
    #expect(clock.acknowledged(sent: at(5), expiry: .seconds(15), now: at(5)) == .resume)
  }

  @Test func `what was fenced has stopped and is not resumed`() {
    var clock = LeaseClock(sent: start, expiry: .seconds(15))
    #expect(clock.look(now: at(30)) == .fence)
    #expect(clock.acknowledged(sent: at(31), expiry: .seconds(15), now: at(31)) == nil)
    #expect(clock.standing == .confirmed)
  }

  @Test func `a stopped process finds its leases expired when it looks again`() {
    var clock = LeaseClock(sent: start, expiry: .seconds(15))
    #expect(clock.look(now: at(1)) == nil)
    #expect(clock.look(now: at(100)) == .fence)
    #expect(clock.remaining(now: at(100)) < .zero)
  }

  @Test func `a lease is ours at once where there was no gap since it was asked for`() {
    var clock = LeaseClock(sent: start, expiry: .seconds(15))
    #expect(clock.holds(claimed: at(1), listed: at(1.2), now: at(1.2)))
    _ = clock.acknowledged(sent: at(2), expiry: .seconds(15), now: at(2.1))
    #expect(clock.holds(claimed: at(1), listed: at(2.2), now: at(2.2)))
    #expect(!clock.holds(claimed: at(1), listed: at(2.2), now: at(16)), "fenced, not looked yet")
  }

  /// What makes a gap between the asking at 1 s and the heartbeat that is sent at 20 s.
  enum Gap: CaseIterable {
    case suspension, sessionBack, shortLoss, standstill
  }

  @Test(arguments: Gap.allCases)
  func `a lease asked for before a gap is ours once a heartbeat has reported it`(_ gap: Gap) {
    var clock = LeaseClock(sent: start, expiry: .seconds(gap == .standstill ? 15 : 60))
    switch gap {
    case .suspension: _ = clock.suspend()
    case .sessionBack:
      clock.session(isThere: false)
      _ = clock.look(now: at(3))
      clock.session(isThere: true)
    case .shortLoss:
      clock.session(isThere: false)
      clock.session(isThere: true)
    case .standstill: break
    }
    #expect(!clock.holds(claimed: at(1), listed: at(19), now: at(19)))
    _ = clock.acknowledged(sent: at(20), expiry: .seconds(60), now: at(20.1))
    #expect(clock.holds(claimed: at(1), listed: at(19), now: at(20.2)), "reported at 20 s")
    #expect(!clock.holds(claimed: at(1), listed: at(20.2), now: at(20.2)), "not reported yet")
    #expect(clock.holds(claimed: at(20.1), listed: at(20.2), now: at(20.2)), "asked for after it")
    #expect(!clock.holds(claimed: at(20.05), listed: at(20.2), now: at(20.2)), "before its answer")
    _ = clock.acknowledged(sent: at(21), expiry: .seconds(60), now: at(21.1))
    #expect(clock.holds(claimed: at(1), listed: at(20.2), now: at(21.2)))
  }
}
