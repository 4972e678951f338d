import HaulSystem
import TestSupport
import Testing

@testable import HaulTransfer
@testable import Stores

/// A store whose files are published in rounds that the test holds.
struct Rounds {
  let root: FileDescriptor
  let parts: PartDirectory
  let io: IOPool

  init(below directory: String) throws {
    root = try FileDescriptor.directory(directory)
    parts = PartDirectory(try root.makeDirectories("parts"))
    _ = try root.makeDirectories("d")
    io = try IOPool(threads: 4)
  }

  /// Publishes a new file under that name, and notes in `named` that it was renamed.
  func publish(
    _ name: String, by commit: GroupCommit, noting named: Watched<[String]>
  ) async throws -> Published? {
    try await publish(parts.create(name), by: commit, noting: named)
  }

  /// Writes `bytes` from 0 on and syncs nothing.
  func write(_ bytes: [UInt8], to part: PartFile) throws {
    try bytes.withUnsafeBytes { try part.write($0, at: 0) }
  }

  /// Publishes a part file as `d/` and its name, and notes in `named` that it was renamed.
  func publish(
    _ part: PartFile, by commit: GroupCommit, noting named: Watched<[String]>
  ) async throws -> Published? {
    let destination = Destination(root: root)
    return try await commit.publish(part, on: io) { () throws(TransferError) in
      guard let path = try? RelativePath("d/\(part.name)") else { return nil }
      let parent = try destination.makeParent(of: path)
      _ = try destination.place(
        part: part.name, inode: part.inode, of: parts, at: path, in: parent, policy: .fail)
      named.update { $0.append(part.name) }
      return (.placed(path), parent)
    }?.published
  }

  /// Begins a round that ends when `gate` is opened, so that others can gather.
  func hold(
    _ commit: GroupCommit, until gate: Gate,
    in group: inout ThrowingTaskGroup<Published?, any Error>
  ) async throws {
    let part = try parts.create(gate.name)
    let begun = Watched(false)
    group.addTask {
      try await commit.publish(part, on: io) {
        begun.update { $0 = true }
        try? gate.waitBlocking()
        return nil
      }?.published
    }
    try await begun.first("the round") { $0 ? () : nil }
  }

  /// Publishes `count` files that have gathered before their first round.
  func together(
    _ count: Int, _ commit: GroupCommit, _ named: Watched<[String]>, from first: Int = 0
  ) async throws -> [Published] {
    try await together((first..<first + count).map { "\($0)" }, commit) { name in
      try await publish(name, by: commit, noting: named)
    }
  }

  /// Calls `publish` for each name; they have gathered before their first round.
  func together(
    _ names: [String], _ commit: GroupCommit,
    _ publish: @escaping @Sendable (String) async throws -> Published?
  ) async throws -> [Published] {
    let gate = Gate("holder of \(names.joined(separator: " "))")
    return try await withThrowingTaskGroup(of: Published?.self) { group in
      try await hold(commit, until: gate, in: &group)
      for name in names { group.addTask { try await publish(name) } }
      try await eventually("all to wait") { commit.waitingCount == names.count }
      gate.open()
      return try await group.reduce(into: []) { $0 += $1.map { [$0] } ?? [] }
    }
  }
}
