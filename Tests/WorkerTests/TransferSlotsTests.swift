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

  /// As many as there are slots wait beside those that have one; the rest count.
  @Test func `silent ones take no slot, up to as many as there are slots`() async throws {
    await withTaskGroup(of: Void.self) { group in
      do {
        try await ask(1, &group, waiting: 0)
        try await ask(2, &group, waiting: 1)
        #expect(slots.setSilent([1, 2]))
        try await entered.first("2 to enter") { $0 == [1, 2] ? () : nil }
        try await ask(3, &group, waiting: 1)
        #expect(slots.hinderedCount == 0)
        #expect(slots.setSilent([1, 2]))
        #expect(!slots.setSilent([1, 2]))
        #expect(slots.hinderedCount == 1)
        slots.leave(2)
        try await entered.first("3 to enter") { $0 == [1, 2, 3] ? () : nil }
        // It has its first byte, and counts again.
        #expect(slots.setSilent([]))
        try await ask(4, &group, waiting: 1)
        slots.leave(1)
        #expect(slots.waitingCount == 1)
        slots.leave(3)
        try await entered.first("4 to enter") { $0 == [1, 2, 3, 4] ? () : nil }
      } catch {
        Issue.record(error)
        for token in 1...4 { slots.skip(Int64(token)) }
      }
    }
  }

  @Test func `hosts that answer go first, and hosts in trouble last`() async throws {
    await slots.enter(9) { false }
    await withTaskGroup(of: Void.self) { group in
      let ranks: [TransferSlots.Rank] = [.again, .new, .answered, .new, .answered]
      for (token, rank) in ranks.enumerated() {
        group.addTask {
          await slots.enter(Int64(token), rank: rank) { false }
          entered.update { $0.append(Int64(token)) }
          slots.leave(Int64(token))
        }
        do {
          try await eventually("\(token) to wait") { slots.waitingCount == token + 1 }
        } catch {
          Issue.record(error)
        }
      }
      slots.leave(9)
    }
    #expect(entered.value == [2, 4, 1, 3, 0])
  }

  /// 1. A job is stopped. 2. It asks for a slot: nobody will skip it any more.
  @Test func `who was skipped before asking does not wait`() async {
    await slots.enter(1) { false }
    await slots.enter(2) { true }
    slots.leave(2)
    #expect(slots.waitingCount == 0)
  }
}
