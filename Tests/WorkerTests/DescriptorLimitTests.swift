import Testing

@testable import Worker

struct DescriptorLimitTests {
  @Test func `what is needed grows with jobs, stores and workers`() {
    #expect(DescriptorLimit.needed(workers: 0, leases: 16, stores: 1) == 64)
    #expect(DescriptorLimit.needed(workers: 1, leases: 16, stores: 1) == 496)
    #expect(DescriptorLimit.needed(workers: 2, leases: 1024, stores: 1) == 23_104)
    #expect(DescriptorLimit.needed(workers: 1, leases: 1, stores: 3) == 843)
  }

  @Test(arguments: [(1024, 4096, 448, 1024), (256, 4096, 448, 448), (256, 448, 448, 448)])
  func `a soft limit is raised as far as needed, and never lowered`(
    soft: UInt, hard: UInt, needed: UInt, raised: UInt
  ) throws {
    #expect(try DescriptorLimit(soft: soft, hard: hard).raised(to: needed) == raised)
  }

  @Test func `a hard limit that is too low is told`() {
    #expect(throws: DescriptorLimit.TooLow(needed: 448, hard: 447)) {
      try DescriptorLimit(soft: 256, hard: 447).raised(to: 448)
    }
  }
}
