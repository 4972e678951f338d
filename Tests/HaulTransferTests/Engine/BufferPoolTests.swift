import Synchronization
import Testing

@testable import HaulTransfer

@Suite struct BufferPoolTests {
  private final class Disk {}
  private final class Count: Sendable { let value = Mutex(0) }

  @Test func `a disk that stands still leaves buffers to every other`() {
    let pool = BufferPool(capacity: 16, limit: 96, whenFreed: {})
    let disks = (0..<7).map { _ in Disk() }
    var held = disks.map { disk in
      Array(sequence(state: ()) { _ in pool.take(for: ObjectIdentifier(disk)) })
    }
    #expect(held.map(\.count) == [64, 22, 7, 2, 1, 1, 1])
    // What comes back can be taken again, by the one that gave it too.
    held[0] = []
    #expect(
      Array(sequence(state: ()) { _ in pool.take(for: ObjectIdentifier(disks[0])) }).count > 40)
  }

  @Test func `who found none is told once that one has come back`() {
    let told = Count()
    let pool = BufferPool(capacity: 16, limit: 2, whenFreed: { told.value.withLock { $0 += 1 } })
    var one = pool.take()
    var two = pool.take()
    #expect(one != nil && two != nil && pool.take() == nil)
    one = nil
    two = nil
    #expect(told.value.withLock { $0 } == 1)
    withExtendedLifetime((one, two)) {}
  }

  @Test func `what another disk gives back wakes nobody who may not have it`() {
    let told = Count()
    let pool = BufferPool(capacity: 16, limit: 6, whenFreed: { told.value.withLock { $0 += 1 } })
    let (still, other) = (Disk(), Disk())
    var held = Array(sequence(state: ()) { _ in pool.take(for: ObjectIdentifier(still)) })
    #expect(held.count == 4)
    for _ in 1...3 {
      let buffer = pool.take(for: ObjectIdentifier(other))
      #expect(buffer != nil && pool.take(for: ObjectIdentifier(still)) == nil)
      withExtendedLifetime(buffer) {}
    }
    #expect(told.value.withLock { $0 } == 0)
    held.removeLast()
    #expect(told.value.withLock { $0 } == 1)
    #expect(pool.take(for: ObjectIdentifier(still)) != nil)
  }
}
