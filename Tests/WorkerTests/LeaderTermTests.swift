import Testing

@testable import Maintenance

/// What is said of a leader's terms, round by round.
struct LeaderTermTests {
  private static let start = ContinuousClock.now

  /// A round: the moment in milliseconds, whether this process is to keep house, and what is said.
  private func check(_ rounds: [(at: Int, leads: Bool, news: LeaderTerm.News?)]) {
    var term = LeaderTerm()
    for round in rounds {
      let now = Self.start + .milliseconds(round.at)
      #expect(term.asked(leads: round.leads, now: now) == round.news, "at \(round.at) ms")
      if round.leads { term.kept(now: now) }
    }
  }

  @Test func `who holds the lock is elected once`() {
    check([(0, true, .elected), (1000, true, nil), (9000, true, nil)])
  }

  @Test func `who stands by says so once`() {
    check([(0, false, .standsBy(hasLed: false)), (1500, false, nil), (3000, true, .elected)])
  }

  @Test func `who stands in is elected once, although not asked to lead after each round`() {
    check([
      (0, false, .standsBy(hasLed: false)), (1500, true, .elected), (2500, false, nil),
      (4000, true, nil),
      (5000, false, nil), (6500, true, nil),
    ])
  }

  @Test func `the term of who stood in ends when somebody else keeps house`() {
    check([
      (0, true, .elected), (1000, false, nil), (2500, false, .standsBy(hasLed: true)),
      (4000, false, nil),
      (6000, true, .elected),
    ])
  }

  @Test func `with another session another term begins`() {
    var term = LeaderTerm()
    #expect(term.asked(leads: true, now: Self.start) == .elected)
    term.kept(now: Self.start)
    term.lost()
    #expect(term.asked(leads: true, now: Self.start) == .elected)
  }
}
