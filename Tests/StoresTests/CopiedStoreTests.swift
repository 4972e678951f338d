import Stores
import Testing

/// When a store's directory counts as a copy, as a table.
struct CopiedStoreTests {
  /// What a worker with the number 5 finds at one look, and hears afterwards.
  struct Round: Sendable {
    /// Seconds since the worker began.
    var at: Int
    var finds: Set<Int64> = []
    var hears: [CopiedStore.Peer] = []
    var reports: [Int64] = []
    /// The worker whose directory counts as the original.
    var original: Int64?
  }

  struct Case: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let rounds: [Round]
  }

  private static func peer(_ worker: Int64, age: Int, misses: Bool = false) -> CopiedStore.Peer {
    CopiedStore.Peer(worker: worker, machine: "m", age: .seconds(age), misses: misses)
  }

  static let cases = [
    Case(
      testDescription: "alone",
      rounds: [Round(at: 0), Round(at: 300)]),
    Case(
      testDescription: "the other's sign is there",
      rounds: [
        Round(at: 0, finds: [3], hears: [peer(3, age: 500)]),
        Round(at: 30, finds: [3], hears: [peer(3, age: 530)]),
        Round(at: 300, finds: [3], hears: [peer(3, age: 800)]),
      ]),
    Case(
      testDescription: "an older worker's sign is missing at two looks",
      rounds: [
        Round(at: 0, hears: [peer(3, age: 500)]),
        Round(at: 30, hears: [peer(3, age: 530)]),
        Round(at: 60, hears: [peer(3, age: 560)], reports: [3], original: 3),
        // It ends, and may come back.
        Round(at: 90, reports: [3], original: 3), Round(at: 120, original: 3),
      ]),
    Case(
      testDescription: "a sign is too young, and appears late",
      rounds: [
        Round(at: 0, hears: [peer(3, age: 10)]),
        Round(at: 30, hears: [peer(3, age: 40)]),
        Round(at: 109, hears: [peer(3, age: 119)]),
        Round(at: 120, finds: [3], hears: [peer(3, age: 130)]),
        Round(at: 150, finds: [3], hears: [peer(3, age: 160)]),
      ]),
    Case(
      testDescription: "a sign is removed once, and is made again",
      rounds: [
        Round(at: 0, finds: [3], hears: [peer(3, age: 500)]),
        Round(at: 30, finds: [3], hears: [peer(3, age: 530)]),
        Round(at: 60, hears: [peer(3, age: 10)]),
        Round(at: 90, finds: [3], hears: [peer(3, age: 40)]),
        Round(at: 120, finds: [3], hears: [peer(3, age: 70)]),
        Round(at: 150, hears: [peer(3, age: 1)]),
        Round(at: 180, finds: [3], hears: [peer(3, age: 31)]),
      ]),
    Case(
      testDescription: "a newer worker's sign is missing: that one closes its store",
      rounds: [
        Round(at: 0, hears: [peer(8, age: 121)]),
        Round(at: 30, hears: [peer(8, age: 151)]),
        Round(at: 60, hears: [peer(8, age: 181)], reports: [8]),
      ]),
    Case(
      testDescription: "the older one's sign was copied, but it does not find this one's",
      rounds: [
        Round(at: 0, finds: [3], hears: [peer(3, age: 500)]),
        Round(at: 30, finds: [3], hears: [peer(3, age: 530)]),
        Round(at: 200, finds: [3], hears: [peer(3, age: 700, misses: true)], original: 3),
        Round(at: 230, finds: [3], hears: [peer(3, age: 730)]),
      ]),
    Case(
      testDescription: "a newer one misses this one's sign",
      rounds: [Round(at: 200, finds: [8], hears: [peer(8, age: 200, misses: true)])]),
    Case(
      testDescription: "one ends and takes its sign along",
      rounds: [
        Round(at: 0, finds: [3], hears: [peer(3, age: 500)]),
        Round(at: 30, finds: [3], hears: [peer(3, age: 530)]),
        Round(at: 60), Round(at: 90), Round(at: 120),
      ]),
    Case(
      testDescription: "the shared directory is mounted where the copy was",
      rounds: [
        Round(at: 0, hears: [peer(3, age: 500)]),
        Round(at: 30, hears: [peer(3, age: 530)]),
        Round(at: 60, hears: [peer(3, age: 560)], reports: [3], original: 3),
        Round(at: 90, finds: [3], hears: [peer(3, age: 590)]),
      ]),
    Case(
      testDescription: "of several, the oldest has the original",
      rounds: [
        Round(at: 0, finds: [4], hears: [peer(2, age: 500), peer(3, age: 500), peer(4, age: 500)]),
        Round(
          at: 30, finds: [4], hears: [peer(2, age: 530), peer(3, age: 530), peer(4, age: 530)]),
        Round(
          at: 60, finds: [4], hears: [peer(2, age: 560), peer(3, age: 560), peer(4, age: 560)],
          reports: [2, 3], original: 2),
      ]),
  ]

  @Test(arguments: cases)
  func `a directory without the older ones' signs is a copy`(scenario: Case) {
    var copy = CopiedStore(own: 5)
    let start = ContinuousClock.now
    for round in scenario.rounds {
      let now = start + .seconds(round.at)
      #expect(copy.looked(round.finds, now: now) == round.reports, "at \(round.at)")
      copy.heard(of: round.hears, now: now)
      #expect(copy.original?.worker == round.original, "at \(round.at)")
    }
  }
}
