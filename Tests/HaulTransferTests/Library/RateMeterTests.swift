import Testing

@testable import HaulTransfer

/// The rate that all who follow a download see.
struct RateMeterTests {
  private let start = ContinuousClock.now

  /// 1 MB/s from `start` on, looked at every so many milliseconds.
  private func rates(every step: Int, for total: Int, _ rate: Double = 1e6) -> [Double] {
    var meter = RateMeter()
    return stride(from: step, through: total, by: step).map { time in
      let now = start + .milliseconds(time)
      meter.update(
        fetched: Int64(rate * Double(time) / 1000), since: start, received: now, now: now)
      return meter.rate
    }
  }

  @Test(arguments: [100, 250, 333, 1000])
  func `a steady rate shows as what it is from the beginning`(_ step: Int) {
    for rate in rates(every: step, for: 5000) { #expect(abs(rate - 1e6) < 20) }
  }

  @Test func `who looks late sees the whole`() {
    #expect(abs(rates(every: 7000, for: 7000)[0] - 1e6) < 1)
  }

  @Test func `a change shows after a few seconds`() {
    var meter = RateMeter()
    var fetched = 0.0
    for time in stride(from: 0.25, through: 20, by: 0.25) {
      fetched += (time <= 10 ? 1e6 : 3e6) * 0.25
      let now = start + .seconds(time)
      meter.update(fetched: Int64(fetched), since: start, received: now, now: now)
      if time == 10 { #expect(abs(meter.rate - 1e6) < 1e3) }
      if time == 12 { #expect(meter.rate > 2e6) }
    }
    #expect(abs(meter.rate - 3e6) < 5e4)
  }

  @Test func `what comes in lumps counts when it came`() {
    var meter = RateMeter()
    // 256 KiB every quarter of a second, looked at a little later.
    for lump in 1...4 {
      let received = start + .milliseconds(250 * lump)
      meter.update(
        fetched: Int64(250_000 * lump), since: start, received: received,
        now: received + .milliseconds(90))
      #expect(abs(meter.rate - 1e6) < 1)
    }
  }

  @Test func `silence lowers it, another attempt begins again, nothing divides by zero`() {
    var meter = RateMeter()
    #expect(meter.rate == 0)
    meter.update(fetched: 0, since: start, received: start, now: start)
    #expect(meter.rate == 0)
    let second = start + .seconds(1)
    meter.update(fetched: 1_000_000, since: start, received: second, now: second)
    meter.update(fetched: 1_000_000, since: start, received: second, now: start + .seconds(11))
    #expect(meter.rate < 2e5)
    let later = start + .seconds(12)
    meter.update(
      fetched: 500_000, since: later, received: later + .milliseconds(500),
      now: later + .milliseconds(500))
    #expect(meter.rate > 1.5e5)
    meter.stop()
    #expect(meter.rate == 0)
  }
}
