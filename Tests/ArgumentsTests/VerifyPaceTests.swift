import Terminal
import Testing

@testable import haul

/// The progress of `haul verify`.
struct VerifyPaceTests {
  private let start = ContinuousClock.now

  @Test func `bytes that were read give rate and time left`() {
    var pace = VerifyPace()
    pace.begin((files: 3, bytes: 1000), at: start)
    #expect(pace.frame == ProgressFrame(all: 3, bytes: 0, total: 1000))
    pace.read(100, at: start + .seconds(1))
    #expect(
      pace.frame
        == ProgressFrame(all: 3, bytes: 100, total: 1000, rate: 100, timeLeft: .seconds(9)))
    pace.end(bytes: 400, faults: 1, at: start + .seconds(2))
    #expect(
      pace.frame
        == ProgressFrame(
          failed: 1, all: 3, bytes: 400, total: 1000, rate: 200, timeLeft: .seconds(3)))
  }

  @Test func `where no file has a digest, files are counted`() {
    var pace = VerifyPace()
    pace.begin((files: 10, bytes: 0), at: start)
    pace.end(bytes: 0, faults: 0, at: start + .seconds(1))
    pace.end(bytes: 0, faults: 0, at: start + .seconds(2))
    #expect(
      pace.frame
        == ProgressFrame(
          done: 2, all: 10, bytes: 0, total: 0, countsFiles: true, timeLeft: .seconds(8)))
  }

  @Test func `without a count there is no time left`() {
    var pace = VerifyPace()
    pace.read(0, at: start)
    pace.read(500, at: start + .seconds(1))
    #expect(pace.frame == ProgressFrame(bytes: 500, rate: 500))
  }

  @Test(
    arguments: [
      ("1%", 0.01), ("0.5%", 0.005), ("100%", 1), ("0%", nil), ("101%", nil), ("5", nil),
      ("-1%", nil), ("%", nil), ("1e1%", nil), ("nan%", nil),
    ] as [(String, Double?)])
  func `a percentage is a part of a whole`(text: String, fraction: Double?) {
    #expect(Percentage(argument: text)?.fraction == fraction)
  }
}
