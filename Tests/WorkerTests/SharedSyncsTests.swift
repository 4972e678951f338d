import Synchronization
import TestSupport
import Testing
import Transfer

@testable import Worker

struct SharedSyncsTests {
  /// A disk whose syncs wait to be let go, and may fail.
  private final class SlowDisk: Sendable {
    let gates = (0..<3).map { Gate("sync \($0)") }
    /// How many were served by each sync.
    let served = Watched<[Int]>([])
    let failing: Set<Int>

    init(failing: Set<Int> = []) {
      self.failing = failing
    }

    func sync(_ parents: [Destination.Parent]) throws(TransferError) {
      let number = served.update { served in
        served.append(parents.count)
        return served.count - 1
      }
      try? gates[number].waitBlocking()
      if failing.contains(number) { throw TransferError(.io, "sync \(number) failed") }
    }
  }

  private let directory: TemporaryDirectory
  private let io: IOPool

  init() throws {
    directory = try TemporaryDirectory()
    io = try IOPool(threads: 4)
  }

  private func parent(of path: String) throws -> Destination.Parent {
    let root = try FileDescriptor.directory(directory.path)
    return try Destination(root: root).makeParent(of: RelativePath(path))
  }

  /// 1. A renames, and its sync begins. 2. B and C rename: that sync may not have seen them. 3. One more serves both.
  @Test func `who comes during a sync waits for the next, which serves all`() async throws {
    let disk = SlowDisk()
    let syncs = SharedSyncs(io) { parents throws(TransferError) in try disk.sync(parents) }
    let ended = Watched<[String]>([])
    try await withThrowingTaskGroup(of: Void.self) { group in
      for name in ["a", "b", "c"] {
        let parent = try parent(of: "d/\(name)")
        group.addTask {
          try await syncs.sync(parent)
          ended.update { $0.append(name) }
        }
        if name == "a" { try await disk.served.first("the first sync") { $0 == [1] ? () : nil } }
      }
      try await eventually("b and c to wait") { syncs.waitingCount == 2 }
      #expect(ended.value == [])
      disk.gates[0].open()
      try await disk.served.first("the second sync") { $0.count == 2 ? () : nil }
      try await ended.first("a to end") { $0 == ["a"] ? () : nil }
      disk.gates[1].open()
      try await group.waitForAll()
    }
    #expect(disk.served.value == [1, 2])
    #expect(Set(ended.value) == ["a", "b", "c"])
  }

  @Test func `another directory has syncs of its own`() async throws {
    let disk = SlowDisk()
    let syncs = SharedSyncs(io) { parents throws(TransferError) in try disk.sync(parents) }
    let (one, other) = (try parent(of: "d/a"), try parent(of: "e/a"))
    async let first: Void = syncs.sync(one)
    async let second: Void = syncs.sync(other)
    try await disk.served.first("both syncs") { $0 == [1, 1] ? () : nil }
    disk.gates.forEach { $0.open() }
    _ = try await (first, second)
  }

  @Test func `a failure is for those whom the sync served`() async throws {
    let disk = SlowDisk(failing: [0])
    let syncs = SharedSyncs(io) { parents throws(TransferError) in try disk.sync(parents) }
    let parents = try ["a", "b"].map { try parent(of: "d/\($0)") }
    let first = Task { try await syncs.sync(parents[0]) }
    try await disk.served.first("the first sync") { $0 == [1] ? () : nil }
    async let second: Void = syncs.sync(parents[1])
    try await eventually("the second to wait") { syncs.waitingCount == 1 }
    disk.gates.forEach { $0.open() }
    await #expect(throws: TransferError(.io, "sync 0 failed")) { try await first.value }
    try await second
    #expect(disk.served.value == [1, 1])
  }
}
