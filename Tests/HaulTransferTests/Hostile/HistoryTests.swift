import Foundation
import TestSupport
import Testing

/// Whatever an origin does and whenever a worker dies: what is called complete is a file that the origin really had, and a
/// source that behaves again brings its file home.
///
/// 2,000 histories; HAUL_TEST_LONG=1 makes it 100,000. HAUL_TEST_SEED repeats a single one, a hundred times: what it decides is
/// the same each time, how threads meet is not.
@Suite(.timeLimit(.minutes(240)))
struct HistoryTests {
  private static let environment = ProcessInfo.processInfo.environment

  @Test func `no mixture, no half file, no dead end`() async throws {
    let given = Self.environment["HAUL_TEST_SEED"].flatMap(UInt64.init)
    let first = given ?? .random(in: 0...UInt64.max)
    let count = given != nil ? 100 : isLongRun ? 100_000 : 2000
    let begin = ContinuousClock.now
    var account = History.Account()
    // A stage keeps a log of all requests.
    for start in stride(from: 0, to: count, by: 2000) {
      let seeds = (start..<min(start + 2000, count)).map { given ?? first &+ UInt64($0) }
      account.add(try await HistoryStage().run(seeds))
    }
    print(
      "\(count) histories: \(ContinuousClock.now - begin), \(account.attempts) attempts,"
        + " \(account.resumed) resumed, \(account.changes) changes, \(account.deaths) deaths,"
        + " \(account.drains) drains, \(account.early) complete before the source behaved")
    #expect(account.complaints.prefix(10) == [])
    guard given == nil else { return }
    // What nobody tries proves nothing.
    for deed in HostileDeed.allCases { #expect(account.deeds[deed, default: 0] > count / 100) }
    #expect(account.resumed > count / 10 && account.deaths > count / 10)
    #expect(account.early > count / 5 && account.early < count * 9 / 10)
  }
}
