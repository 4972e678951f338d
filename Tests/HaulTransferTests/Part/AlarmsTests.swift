import HaulSystem
import TestSupport
import Testing

/// Calls at set times.
struct AlarmsTests {
  private final class Owner: Sendable {}

  private let alarms = Alarms()
  private let calls = Watched<[String]>([])

  private func set(_ name: String, of owner: Owner, after time: Duration) {
    alarms.set(owner, at: .now + time) { [calls] in calls.update { $0.append(name) } }
  }

  private func wait(for names: [String]) async throws {
    try await calls.first("calls \(names)") { $0.count >= names.count ? () : nil }
    #expect(calls.value == names)
  }

  @Test func `an alarm does not wait for an earlier one with a later time`() async throws {
    let (late, early) = (Owner(), Owner())
    set("late", of: late, after: .seconds(3600))
    set("early", of: early, after: .milliseconds(5))
    try await wait(for: ["early"])
  }

  @Test func `a removed alarm is not called, and does not keep others from their calls`()
    async throws
  {
    let (removed, other) = (Owner(), Owner())
    set("other", of: other, after: .seconds(3600))
    set("removed", of: removed, after: .seconds(3600))
    alarms.remove(removed)
    set("other", of: other, after: .milliseconds(5))
    try await wait(for: ["other"])
    // Nothing is left to wait for.
    set("removed", of: removed, after: .milliseconds(5))
    try await wait(for: ["other", "removed"])
  }

  @Test func `a new alarm of the same owner replaces the first`() async throws {
    let (owner, last) = (Owner(), Owner())
    set("first", of: owner, after: .milliseconds(400))
    set("second", of: owner, after: .milliseconds(5))
    set("last", of: last, after: .milliseconds(600))
    try await wait(for: ["second", "last"])
  }

  @Test func `alarms work again after all were called`() async throws {
    let owner = Owner()
    for round in 1...3 {
      set("again", of: owner, after: round == 2 ? .seconds(-1) : .milliseconds(2))
      try await wait(for: Array(repeating: "again", count: round))
    }
  }

  @Test func `a thousand alarms are each called once`() async throws {
    let owners = (0..<1_000).map { _ in Owner() }
    for (number, owner) in owners.enumerated() {
      set("\(number)", of: owner, after: .milliseconds(number * 7 % 50))
    }
    try await calls.first("a thousand calls") { $0.count >= owners.count ? () : nil }
    #expect(Set(calls.value).count == owners.count)
    #expect(calls.value.count == owners.count)
  }
}
