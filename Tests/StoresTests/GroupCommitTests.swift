import HaulSystem
import HaulTransfer
import Synchronization
import TestSupport
import Testing

@testable import Stores

struct GroupCommitTests {
  /// A file system whose syncs wait to be let go, and may fail or take long by the clock.
  private final class SlowDisk: Sendable {
    let gates = (0..<4).map { Gate("sync \($0)") }
    /// How many syncs of everything have begun.
    let begun = Watched(0)
    let clock = Mutex(ContinuousClock.now)
    private let failing: Set<Int>
    private let duration: Duration

    init(failing: Set<Int> = [], duration: Duration = .zero) {
      self.failing = failing
      self.duration = duration
    }

    func sync() throws(TransferError) {
      let number = begun.update { begun in
        defer { begun += 1 }
        return begun
      }
      try? gates[number].waitBlocking()
      pass(duration)
      if failing.contains(number) { throw TransferError(.io, "sync \(number) failed") }
    }

    func pass(_ time: Duration) { clock.withLock { $0 += time } }

    func commit(
      syncPart: @escaping GroupCommit.SyncPart = { (part) throws(TransferError) in try part.sync() }
    ) -> GroupCommit {
      GroupCommit(
        syncAll: { () throws(TransferError) in try self.sync() }, syncPart: syncPart,
        now: { self.clock.withLock { $0 } })
    }
  }

  private let directory: TemporaryDirectory
  private let rounds: Rounds

  init() throws {
    directory = try TemporaryDirectory()
    rounds = try Rounds(below: directory.path)
  }

  @Test func `a group takes two syncs of everything, one for its bytes and one for its names`()
    async throws
  {
    let disk = SlowDisk()
    disk.gates.forEach { $0.open() }
    let named = Watched<[String]>([])
    #expect(try await rounds.together(8, disk.commit(), named).count == 8)
    #expect(disk.begun.value == 2)
    #expect(named.value.count == 8)
  }

  /// 1. Four are being synced. 2. Four more write and come. 3. The first sync ends: it may have missed what they wrote.
  @Test func `who comes during a sync is served by a later one`() async throws {
    let disk = SlowDisk()
    let commit = disk.commit()
    let named = Watched<[String]>([])
    let early = ["a", "b", "c", "d"]
    try await withThrowingTaskGroup(of: Published?.self) { group in
      let gate = Gate("holder")
      try await rounds.hold(commit, until: gate, in: &group)
      for name in early {
        group.addTask { try await rounds.publish(name, by: commit, noting: named) }
      }
      try await eventually("four to wait") { commit.waitingCount == 4 }
      gate.open()
      try await disk.begun.first("the first sync") { $0 == 1 ? () : nil }
      for name in ["e", "f", "g", "h"] {
        group.addTask { try await rounds.publish(name, by: commit, noting: named) }
      }
      try await eventually("four more to wait") { commit.waitingCount == 4 }
      disk.gates[0].open()
      try await disk.begun.first("the second sync") { $0 == 2 ? () : nil }
      #expect(named.value.sorted() == early)
      disk.gates.forEach { $0.open() }
      try await group.waitForAll()
    }
    #expect(named.value.count == 8)
  }

  @Test func `where everything cannot be synced, each is synced apart`() async throws {
    let disk = SlowDisk(failing: [0])
    disk.gates.forEach { $0.open() }
    let commit = disk.commit()
    let named = Watched<[String]>([])
    let paths = try await rounds.together(8, commit, named)
    #expect(paths.count == 8)
    #expect(disk.begun.value == 1)
  }

  @Test func `a sync of everything that takes long is not tried again for a while`() async throws {
    let disk = SlowDisk(duration: .seconds(1))
    disk.gates.forEach { $0.open() }
    let commit = disk.commit()
    let named = Watched<[String]>([])
    _ = try await rounds.together(8, commit, named)
    #expect(disk.begun.value == 1)
    disk.pass(.seconds(31))
    _ = try await rounds.together(8, commit, named, from: 8)
    #expect(disk.begun.value == 2)
  }

  /// The kernel has told of the failure once. A file that was open then has lost what it wrote, and a sync of everything that
  /// works says nothing of it.
  @Test func `a file that was open while a sync failed is synced by its own descriptor`()
    async throws
  {
    let disk = SlowDisk(failing: [0])
    disk.gates.forEach { $0.open() }
    let synced = Watched<[String]>([])
    let commit = disk.commit { (part) throws(TransferError) in
      synced.update { $0.append(part.name) }
      if part.name == "lost" { throw TransferError(.io, "writes of \(part.name) were lost") }
    }
    let (lost, whole) = (try rounds.parts.create("lost"), try rounds.parts.create("whole"))
    disk.clock.withLock { $0 = .now }
    _ = try await rounds.together(8, commit, Watched<[String]>([]))
    disk.pass(.seconds(31))
    synced.update { $0 = [] }
    try await withThrowingTaskGroup(of: Published?.self) { group in
      let gate = Gate("holder")
      try await rounds.hold(commit, until: gate, in: &group)
      for part in [lost, whole] {
        group.addTask {
          do {
            return try await commit.publish(part, on: rounds.io) { nil }?.published
          } catch {
            #expect(part.name == "lost" && (error as? TransferError)?.errorClass == .io)
            return nil
          }
        }
      }
      for name in ["new1", "new2"] {
        group.addTask { try await rounds.publish(name, by: commit, noting: Watched<[String]>([])) }
      }
      try await eventually("four to wait") { commit.waitingCount == 4 }
      synced.update { $0 = [] }
      gate.open()
      try await group.waitForAll()
    }
    #expect(Set(synced.value) == ["lost", "whole"])
  }

  @Test func `without a sync of everything each is synced apart`() async throws {
    let paths = try await rounds.together(8, GroupCommit(syncAll: nil), Watched<[String]>([]))
    #expect(paths.count == 8)
  }

  @Test func `a name that fails or must wait is the matter of that one alone`() async throws {
    let commit = GroupCommit(root: rounds.root)
    let named = Watched<[String]>([])
    let (one, other) = (try rounds.parts.create("one"), try rounds.parts.create("other"))
    async let good = rounds.publish("a", by: commit, noting: named)
    async let waits = commit.publish(one, on: rounds.io) { nil }
    await #expect(throws: TransferError(.exists, "taken")) {
      try await commit.publish(other, on: rounds.io) { () throws(TransferError) in
        throw TransferError(.exists, "taken")
      }
    }
    #expect(try await good == .placed(RelativePath("d/a")))
    #expect(try await waits == nil)
  }
}
