import Testing

@testable import HaulTransfer

/// What follows from bytes, length and rate.
struct DownloadProgressTests {
  @Test func `a fraction and a time left are told where the length is known`() {
    func progress(_ bytes: Int64, of expected: Int64?, rate: Double) -> DownloadProgress {
      DownloadProgress(bytes: bytes, expected: expected, rate: rate)
    }
    #expect(progress(25, of: 100, rate: 50).fractionCompleted == 0.25)
    #expect(progress(25, of: 100, rate: 50).estimatedTimeRemaining == .seconds(1.5))
    #expect(progress(0, of: 0, rate: 0).fractionCompleted == 1)
    #expect(progress(25, of: nil, rate: 50).fractionCompleted == nil)
    #expect(progress(25, of: nil, rate: 50).estimatedTimeRemaining == nil)
    #expect(progress(25, of: 100, rate: 0).estimatedTimeRemaining == nil)
    // A rate that decays towards zero: the time is bounded, whatever it comes to.
    let longest = Duration.seconds(100 * 365 * 86_400)
    for rate in [1e-300, .leastNonzeroMagnitude, 1e-9] {
      #expect(progress(1 << 20, of: 10 << 30, rate: rate).estimatedTimeRemaining == longest)
    }
    #expect(progress(25, of: 100, rate: .infinity).estimatedTimeRemaining == .zero)
    #expect(progress(25, of: 100, rate: .nan).estimatedTimeRemaining == nil)
    #expect(progress(100, of: 25, rate: 1).estimatedTimeRemaining == .zero)
  }
}
