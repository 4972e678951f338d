import JobQueue
import Testing

@testable import Worker

struct ReceiveMeterTests {
  private let films = ReceiveMeter.Channel(queue: "data", batch: "films")
  private let loose = ReceiveMeter.Channel(queue: "data", batch: nil)
  private let start = ContinuousClock.now

  private func rates(
    _ meter: inout ReceiveMeter, after seconds: Int, running: Set<ReceiveMeter.Channel>
  ) -> [String?: Int64] {
    let rates = meter.report(now: start + .seconds(seconds), running: running)
    return Dictionary(uniqueKeysWithValues: rates.map { ($0.batch, $0.rate) })
  }

  @Test func `what has come since the last report counts, of each batch for itself`() {
    var meter = ReceiveMeter()
    meter.add(99, of: films)
    #expect(rates(&meter, after: 0, running: [films]).isEmpty)  // in what time is not known
    meter.add(2000, of: films)
    meter.add(1000, of: films)
    meter.add(500, of: loose)
    #expect(rates(&meter, after: 2, running: [films, loose]) == ["films": 1500, nil: 250])
  }

  @Test func `a rate is smoothed while anything runs, and gone with the last transfer`() {
    var meter = ReceiveMeter()
    _ = rates(&meter, after: 0, running: [])
    meter.add(4000, of: films)
    #expect(rates(&meter, after: 2, running: [films]) == ["films": 2000])
    #expect(rates(&meter, after: 4, running: [films]) == ["films": 1000])
    meter.add(1000, of: films)  // the last has ended
    #expect(rates(&meter, after: 6, running: []) == ["films": 750])
    #expect(rates(&meter, after: 8, running: []).isEmpty)
  }
}
