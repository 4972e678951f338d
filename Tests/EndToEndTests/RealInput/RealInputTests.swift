import Foundation
import TestSupport
import Testing

/// A real tree through a real pool, with one worker killed and one drained on the way.
///
/// The input is all of the Swift toolchain's `usr/lib` and `usr/bin`. The whole of it takes minutes, so the
/// suite runs 300 of the files; `scripts/real-input` sets HAUL_TEST_REAL_INPUT to the directories to take
/// in full, separated by colons.
@Suite struct RealInputTests {
  /// Bytes a second that nginx gives to one transfer.
  static let rate: Int64 = 4 << 20

  @Test func `a tree arrives whole through a kill and a drain, and hardly a byte twice`()
    async throws
  {
    try await HaulPool.open { pool in
      let nginx = try await Nginx(location: "limit_rate \(Self.rate);")
      let (directories, isComplete) = try await RealInput.directories()
      let input = try RealInput(directories, limit: isComplete ? nil : 300, through: nginx)
      let run = RealRun(pool: pool, nginx: nginx, input: input)
      let times = try await run.carryOut(cap: 32)
      let figures = try await RealFigures(run, times)
      print(figures.description)
      #expect(figures.broken == [])
      #expect(try run.wrongFiles() == [])
      #expect(try pool.parts() == [])
      #expect(try await pool.violations() == [])
      #expect(figures.states == ["completed": input.files.count])
      #expect(figures.timesCompleted == [1: input.files.count])
    }
  }

  @Test func `a host never sees more transfers at once than its cap, which is 4`() async throws {
    try await HaulPool.open { pool in
      // So that requests take long enough to meet.
      let nginx = try await Nginx(location: "limit_rate 256k;")
      let (directories, _) = try await RealInput.directories()
      let input = try RealInput(directories, limit: 250, through: nginx)
      let small = RealInput(files: input.files.filter { $0.length < 1 << 20 })
      let run = RealRun(pool: pool, nginx: nginx, input: small)
      try await run.submit()
      let workers = try (0..<3).map { _ in try pool.worker("--concurrency", "8", "--exit-when-idle")
      }
      for worker in workers { #expect(try await worker.exit(within: .seconds(300)) == .code(0)) }
      let log = try await nginx.accessLog(requests: small.files.count)
      #expect(log.requests.count == small.files.count)
      #expect(log.peak == 4)
      #expect(try run.wrongFiles() == [])
      #expect(try await pool.violations() == [])
    }
  }
}
