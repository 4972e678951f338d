import HaulSystem
import Synchronization
import TestSupport
import Testing

/// What a pool of threads holds on to.
struct IOPoolOrderTests {
  private final class Held: Sendable {}

  /// Each held two descriptors, until the last of all was through.
  @Test func `what has run is let go while others wait`() async throws {
    let pool = try IOPool(threads: 1)
    let gates = (0..<2).map { Gate("step \($0)") }
    weak var held: Held?
    do {
      let object = Held()
      held = object
      pool.submit { _ = object }
    }
    let begun = Watched(false)
    pool.submit {
      begun.update { $0 = true }
      try? gates[0].waitBlocking()
    }
    for _ in 0..<100 { pool.submit { try? gates[1].waitBlocking() } }
    try await begun.first("the second") { $0 ? () : nil }
    #expect(held == nil)
    gates.forEach { $0.open() }
  }

  @Test func `all run, in their order, however many wait`() async throws {
    let pool = try IOPool(threads: 1)
    let done = Watched<[Int]>([])
    for number in 0..<1000 { pool.submit { done.update { $0.append(number) } } }
    try await done.first("all") { $0.count == 1000 ? () : nil }
    #expect(done.value == Array(0..<1000))
  }
}
