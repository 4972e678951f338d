import JobQueue
import Testing

@testable import StatusPage

struct EndedCounterTests {
  private func minute(_ at: Int64, _ completed: Int64, _ failed: Int64 = 0) -> EndedInMinute {
    EndedInMinute(
      minute: at * 60, completed: completed, failed: failed, cancelled: 0, bytes: completed)
  }

  @Test func `what ended before the first look does not count`() {
    var counter = EndedCounter()
    #expect(counter.since(now: 6000) == 5100)
    counter.see([minute(99, 7), minute(100, 2)])
    #expect(counter.completed == 0)
    counter.see([minute(99, 7), minute(100, 2)])
    #expect(counter.completed == 0)
  }

  @Test func `minutes that grow and new ones count once`() {
    var counter = EndedCounter()
    counter.see([minute(100, 2)])
    counter.see([minute(100, 5, 1), minute(101, 1)])
    #expect(counter.completed == 4)
    #expect(counter.failed == 1)
    counter.see([minute(100, 5, 1), minute(101, 1)])
    #expect(counter.completed == 4)
  }

  @Test func `nothing that ended while nobody looked is lost`() {
    var counter = EndedCounter()
    counter.see([minute(100, 2)])
    let since = counter.since(now: 1000 * 60)
    #expect(since <= 100 * 60)
    counter.see((100...1000).map { minute($0, 2) })
    #expect(counter.completed == 1800)
  }

  @Test func `a pool where nothing had ended yet counts from the first`() {
    var counter = EndedCounter()
    counter.see([])
    counter.see([minute(100, 3)])
    #expect(counter.completed == 3)
  }

  @Test func `what is forgotten does not make it fall`() {
    var counter = EndedCounter()
    counter.see([])
    counter.see((1...100).map { minute($0, 1) })
    let before = counter.completed
    counter.see([minute(100, 1)])
    #expect(before == 100)
    #expect(counter.completed == before)
  }
}
