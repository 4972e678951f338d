import JobQueue
import Testing

@testable import Worker

/// When a worker offers endings again that the database did not settle, because another session holds their hosts.
struct RunningJobsTests {
  private let jobs = RunningJobs()
  private let start = ContinuousClock.now

  private func end(_ token: Int64) {
    jobs.end(token, with: LeaseEnding(job: token, token: token, result: .completed))
  }

  /// Offers what is to be settled now, of which the database refuses `later`. Returns what was offered.
  private func call(_ number: Int64, after time: Duration, refused later: Set<Int64>) -> [Int64] {
    let offered = jobs.takeEndings(now: start + time).map(\.token)
    let runs = jobs.took(number, [], later: later, now: start + time) { _ in fatalError("no lease")
    }
    #expect(runs.isEmpty)
    return offered
  }

  /// Each host that is held would otherwise put off the endings of all hosts, and a busy worker would never offer them.
  @Test func `endings that wait are not put off by those that are refused later`() {
    end(1)
    #expect(call(1, after: .zero, refused: [1]) == [1])
    #expect(jobs.timeToSettle(now: start) == .milliseconds(100))
    for (number, time) in [30, 60, 90].enumerated() {
      let token = Int64(number + 2)
      end(token)
      #expect(jobs.hasEndings(now: start))
      #expect(call(token, after: .milliseconds(time), refused: [token]) == [token])
      #expect(
        jobs.timeToSettle(now: start + .milliseconds(time)) == .milliseconds(100 - time))
      #expect(!jobs.hasEndings(now: start + .milliseconds(99)))
    }
    #expect(jobs.hasEndings(now: start + .milliseconds(100)))
    #expect(call(5, after: .milliseconds(100), refused: [1]) == [1, 2, 3, 4])
    // Refused once more: twice as long.
    #expect(jobs.timeToSettle(now: start + .milliseconds(100)) == .milliseconds(200))
    #expect(call(6, after: .milliseconds(300), refused: []) == [1])
    #expect(jobs.timeToSettle() == nil && jobs.isEmpty)
    // The next one waits as short as the first.
    end(6)
    #expect(call(7, after: .seconds(1), refused: [6]) == [6])
    #expect(jobs.timeToSettle(now: start + .seconds(1)) == .milliseconds(100))
  }

  @Test func `the pause doubles up to two seconds`() {
    end(1)
    var (time, pauses) = (Duration.zero, [Duration]())
    for number in 1...7 {
      #expect(call(Int64(number), after: time, refused: [1]) == [1])
      let pause = jobs.timeToSettle(now: start + time) ?? .zero
      pauses.append(pause)
      time += pause
    }
    #expect(
      pauses == [100, 200, 400, 800, 1600, 2000, 2000].map { Duration.milliseconds($0) })
  }
}
