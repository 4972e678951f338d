import Testing

@testable import Stores

struct StoreHealthTests {
  private let start = ContinuousClock.now
  private let trouble = StoreTrouble.unwritable("read-only")

  @Test func `only what is new is news`() {
    var standing = StoreHealth()
    var news: [Bool] = []
    news.append(standing.open(now: start))
    news.append(standing.close(because: trouble, now: start))
    news.append(standing.close(because: trouble, now: start))
    news.append(standing.close(because: .hangs, now: start))
    news.append(standing.open(now: start))
    news.append(standing.open(now: start))
    news.append(standing.close(because: .hangs, now: start))
    #expect(news == [false, true, false, true, true, false, true])
  }

  @Test func `an open store is looked at whenever somebody likes, a closed one after a pause`() {
    var standing = StoreHealth()
    #expect(standing.isDue(now: start))
    _ = standing.close(because: trouble, now: start)
    #expect(!standing.isDue(now: start + .seconds(4.9)))
    #expect(standing.isDue(now: start + .seconds(5)))
    _ = standing.open(now: start)
    #expect(standing.isDue(now: start))
  }

  /// Closed, found well, closed again at once: the pauses grow to a minute. A minute without trouble, and they begin anew.
  @Test func `one that looks well and is not is trusted less and less`() {
    var standing = StoreHealth()
    var now = start
    var pauses: [Int] = []
    for _ in 0..<6 {
      _ = standing.close(because: trouble, now: now)
      let seconds = (0...100).first { standing.isDue(now: now + .seconds($0)) }
      pauses.append(seconds ?? -1)
      now += .seconds(seconds ?? 0)
      _ = standing.open(now: now)
    }
    #expect(pauses == [5, 10, 20, 40, 60, 60])
    now += .seconds(61)
    _ = standing.close(because: trouble, now: now)
    #expect(standing.isDue(now: now + .seconds(5)))
  }
}
