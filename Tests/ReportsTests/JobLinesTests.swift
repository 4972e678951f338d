import Log
import Terminal
import Testing

@testable import Reports

struct JobLinesTests {
  /// How many of `count` lines are shown.
  private func shown(_ lines: inout JobLines, _ event: LogEvent, _ count: Int) -> Int {
    (0..<count).count { _ in lines.take(event) }
  }

  @Test func `few are shown, of many the first, and the rest is counted`() {
    var lines = JobLines()
    #expect(shown(&lines, .jobStarted, JobLines.most) == JobLines.most)
    #expect(lines.endRound() == nil)
    #expect(shown(&lines, .jobStarted, JobLines.most + 5) == JobLines.most)
    #expect(shown(&lines, .jobCompleted, JobLines.most + 4) == JobLines.most)
    #expect(shown(&lines, .jobReleased, 1) == 1)
    #expect(lines.endRound() == "5 started, 4 completed")
    #expect(lines.endRound() == nil)
  }

  @Test func `while there are many only failures are shown, and again all when there are few`() {
    var lines = JobLines()
    for _ in 1...2 {
      _ = shown(&lines, .jobStarted, JobLines.most + 1)
      _ = shown(&lines, .jobFailed, JobLines.most + 1)
      _ = lines.endRound()
    }
    #expect(shown(&lines, .jobStarted, 2) == 0)
    #expect(shown(&lines, .jobFailed, JobLines.most + 3) == JobLines.most)
    #expect(shown(&lines, .jobCompleted, 1) == 1)
    #expect(lines.endRound() == "2 started, 3 failed")
    #expect(shown(&lines, .jobStarted, 2) == 2)
  }

  @Test func `what is not about one job is always shown`() {
    var lines = JobLines()
    #expect(shown(&lines, .workerIdle, 1000) == 1000)
    #expect(lines.endRound() == nil)
  }
}
