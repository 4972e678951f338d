import TestSupport
import Testing

@testable import Reports

/// How many lines a host in trouble costs.
struct HostTroubleLinesTests {
  private let start = ContinuousClock.now

  private func take(
    _ files: ClosedRange<Int>, _ lines: inout HostTroubleLines, isFailed: Bool
  ) -> Int {
    files.count {
      lines.take(path: "\($0)", host: "h", error: "connect", isFailed: isFailed)
    }
  }

  @Test func `of 200 files of a dead host the first are shown and the rest told once`() {
    var lines = HostTroubleLines()
    #expect(lines.endRound(now: start) == [])
    #expect(take(1...24, &lines, isFailed: false) == 3)
    #expect(lines.endRound(now: start + .seconds(4)) == [])
    #expect(
      lines.endRound(now: start + .seconds(5)) == [
        .init(
          sentence: "and 21 more files of h will be retried for the same reason",
          isFailed: false)
      ])
    #expect(take(25...29, &lines, isFailed: false) == 0)
    #expect(lines.endRound(now: start + .seconds(10)) == [])
    #expect(take(1...200, &lines, isFailed: true) == 3)
    #expect(
      lines.end() == [
        .init(sentence: "and 197 more files of h failed for the same reason", isFailed: true)
      ])
    #expect(lines.end() == [])
  }

  @Test func `a file that is tried again and again is one file`() {
    var lines = HostTroubleLines()
    for _ in 1...9 { _ = take(1...5, &lines, isFailed: false) }
    #expect(
      lines.endRound(now: start).map(\.sentence) == [])
    for _ in 1...9 { _ = take(1...6, &lines, isFailed: false) }
    #expect(
      lines.endRound(now: start + .seconds(5)).map(\.sentence) == [
        "and 3 more files of h will be retried for the same reason"
      ])
    for _ in 1...9 { _ = take(1...6, &lines, isFailed: false) }
    #expect(lines.endRound(now: start + .seconds(10)) == [])
  }

  @Test func `hosts and reasons are told apart, and one file is no files`() {
    var lines = HostTroubleLines()
    for file in 1...4 {
      _ = lines.take(path: "\(file)", host: "b", error: "dns", isFailed: true)
      _ = lines.take(path: "\(file)", host: "a", error: "connect", isFailed: true)
    }
    #expect(
      lines.end().map(\.sentence) == [
        "and 1 more file of a failed for the same reason",
        "and 1 more file of b failed for the same reason",
      ])
  }

  @Test func `what is wrong with a file itself is always shown`() {
    var lines = HostTroubleLines()
    #expect(
      (1...50).count {
        lines.take(path: "\($0)", host: "h", error: "http_4xx", isFailed: true)
      } == 50)
    #expect(lines.end() == [])
  }
}
