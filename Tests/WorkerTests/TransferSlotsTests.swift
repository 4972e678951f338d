import TestSupport
import Testing

@testable import Worker

struct TransferSlotsTests {
  private let slots = TransferSlots(1)
  private let entered = Watched<[Int64]>([])

  /// Lets `token` ask for a slot, and returns when it has one or waits.
  private func ask(_ token: Int64, _ group: inout TaskGroup<Void>, waiting: Int) async throws {
    group.addTask {
      await slots.enter(token) { false }
      entered.update { $0.append(token) }
    }
    try await eventually("\(token) to have asked") {
      slots.waitingCount == waiting && entered.value.count + waiting >= token
    }
  }

  @Test func `slots are given in the order of asking, and a skipped one passes`() async throws {
    await withTaskGroup(of: Void.self) { group in
      do {
        try await ask(1, &group, waiting: 0)
        try await ask(2, &group, waiting: 1)
        try await ask(3, &group, waiting: 2)
        try await ask(4, &group, waiting: 3)
        slots.skip(3)
        try await entered.first("3 to pass") { $0 == [1, 3] ? () : nil }
        // It had no slot to give.
        slots.leave(3)
        #expect(entered.value == [1, 3])
        slots.leave(1)
        try await entered.first("2 to enter") { $0 == [1, 3, 2] ? () : nil }
        slots.leave(2)
        try await entered.first("4 to enter") { $0 == [1, 3, 2, 4] ? () : nil }
      } catch {
        Issue.record(error)
        for token in 1...4 { slots.skip(Int64(token)) }
      }
    }
  }

  /// 1. A job is stopped. 2. It asks for a slot: nobody will skip it any more.
  @Test func `who was skipped before asking does not wait`() async {
    await slots.enter(1) { false }
    await slots.enter(2) { true }
    slots.leave(2)
    #expect(slots.waitingCount == 0)
  }
}
