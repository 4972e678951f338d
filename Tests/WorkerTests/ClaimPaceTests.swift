import Testing

@testable import Worker

@Suite struct ClaimPaceTests {
  private static func pace(after claims: [(claimed: Int, asked: Int)]) -> ClaimPace {
    claims.reduce(into: ClaimPace()) {
      $0.took($1.claimed, asked: $1.asked, isContended: false, concurrency: 16)
    }
  }

  @Test func `a worker that is alone takes all it has room for`() {
    for pace in [ClaimPace(), Self.pace(after: [(3, 16)])] {
      #expect(pace.share(room: 16, peers: 0, concurrency: 16) == 16)
      #expect(pace.delay(held: 8, peers: 0, concurrency: 16) == .zero)
    }
  }

  @Test func `while there is enough for all nothing is held back`() {
    let pace = Self.pace(after: [(16, 16), (4, 4)])
    #expect(pace.share(room: 16, peers: 2, concurrency: 16) == 16)
    #expect(pace.delay(held: 16, peers: 2, concurrency: 16) == .zero)
  }

  @Test func `after a claim that brought less the shares are small until the worker has enough`() {
    var claims = [(claimed: 0, asked: 16)]
    for _ in 0..<8 {
      let share = Self.pace(after: claims).share(room: 16, peers: 2, concurrency: 16)
      #expect(share == 2)
      claims.append((share, share))
    }
    #expect(Self.pace(after: claims).share(room: 32, peers: 2, concurrency: 16) == 32)
  }

  @Test func `a share is never more than there is room for, and at least one`() {
    let pace = Self.pace(after: [(0, 16)])
    #expect(pace.share(room: 1, peers: 2, concurrency: 16) == 1)
    #expect(pace.share(room: 0, peers: 2, concurrency: 16) == 0)
    #expect(pace.share(room: 16, peers: 500, concurrency: 16) == 1)
  }

  @Test func `what others held says nothing of how much there is`() {
    var pace = ClaimPace()
    pace.took(0, asked: 16, isContended: true, concurrency: 16)
    #expect(pace.share(room: 16, peers: 2, concurrency: 16) == 16)
    pace.took(0, asked: 16, isContended: false, concurrency: 16)
    pace.took(0, asked: 2, isContended: true, concurrency: 16)
    #expect(pace.share(room: 16, peers: 2, concurrency: 16) == 2)
  }

  @Test func `the more a worker holds the longer it leaves what is due to others`() {
    let pace = Self.pace(after: [(0, 16)])
    let delays = [0, 1, 8, 16, 48].map { pace.delay(held: $0, peers: 2, concurrency: 16) }
    #expect(delays.first == .zero)
    #expect(delays == delays.sorted())
    #expect(delays[1] > .milliseconds(10) && delays[1] < delays[2])
    #expect(delays.last == .milliseconds(40))
    let retries = [(0, 0.0), (0, 1), (16, 1)].map {
      pace.retry(held: $0.0, concurrency: 16, chance: $0.1)
    }
    #expect(retries == [.milliseconds(5), .milliseconds(10), .milliseconds(40)])
    var held = pace
    for _ in 0..<4 { held.took(0, asked: 2, isContended: true, concurrency: 16) }
    #expect(held.retry(held: 0, concurrency: 16, chance: 1) == .milliseconds(40))
    held.took(2, asked: 2, isContended: true, concurrency: 16)
    #expect(held.retry(held: 0, concurrency: 16, chance: 1) == .milliseconds(10))
  }
}
