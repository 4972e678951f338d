import Foundation
import Glibc
import HaulSystem
import TestSupport
import Testing

@testable import HaulTransfer

/// What is called durable is there after the power went, and what must not be there is not.
@Suite(.enabled("mounting takes root and loop devices") { await TestFileSystem.isPossible })
struct PowerLossTests {
  let disk: TestFileSystem
  let parts: PartDirectory
  let destination: Destination

  init() async throws {
    disk = try await TestFileSystem(ext4: 16 << 20)
    let root = try FileDescriptor.directory(disk.path)
    mkdir(disk.path + "/parts", 0o755)
    try root.sync()
    parts = PartDirectory(try FileDescriptor.directory(disk.path + "/parts"))
    destination = Destination(root: root)
  }

  /// A part file that holds `text`, with its name durable as a checkpoint needs it.
  private func part(_ name: String, _ text: String) throws -> PartFile {
    let part = try parts.create(name)
    try write(text, to: part, at: 0)
    return part
  }

  private func inode(_ name: String) throws -> UInt64 {
    try #require(try parts.directory.status(of: name)).inode
  }

  private func publish(_ name: String, at path: String) throws -> Destination.Parent {
    let path = try RelativePath(path)
    let parent = try destination.makeParent(of: path)
    #expect(
      try destination.place(
        part: name, inode: inode(name), of: parts, at: path, in: parent, policy: .fail)
        == .placed(path))
    return parent
  }

  private func text(_ path: String, on disk: TestFileSystem) -> String? {
    FileManager.default.contents(atPath: "\(disk.path)/\(path)")
      .map { String(decoding: $0, as: UTF8.self) }
  }

  @Test func `synced bytes of a part file are there, and it is found by its inode`() async throws {
    let pool = try IOPool(threads: 1)
    let part = try parts.create("1-1")
    let buffers = BufferPool(capacity: 1 << 16, limit: 2, whenFreed: {})
    let writer = FileWriter(part, durable: ByteRanges(), digests: [], pool: pool, whenReady: {})
    let bytes = Array(repeating: UInt8(ascii: "x"), count: 1 << 16)
    for offset in [Int64(0), 1 << 16] {
      let buffer = try #require(buffers.take())
      bytes.withUnsafeBytes { buffer.append($0) }
      _ = writer.write(buffer, at: offset)
    }
    let durable = try await writer.sync()
    #expect(durable == ByteRanges(0..<(1 << 17)))

    let after = try await disk.afterPowerLoss()
    let found = PartDirectory(try FileDescriptor.directory(after.path + "/parts"))
    let again = try #require(
      try found.open("1-1", inode: part.inode, holding: durable.end, of: durable.end))
    for offset in [Int64(0), 1 << 16] {
      #expect(try bytes.withUnsafeBytes { try again.holds($0, at: offset) })
    }
  }

  @Test func `a published file is there whole, with its directories`() async throws {
    try part("1-1", "new").sync()
    try publish("1-1", at: "a/b/c.txt").sync()
    let after = try await disk.afterPowerLoss()
    #expect(text("a/b/c.txt", on: after) == "new")
    #expect(text("parts/1-1", on: after) == nil)
  }

  @Test func `a directory that another download made and did not sync lasts too`() async throws {
    for name in ["1-1", "2-1"] { try part(name, name).sync() }
    _ = try publish("1-1", at: "a/b/one")
    try publish("2-1", at: "a/b/two").sync()
    let after = try await disk.afterPowerLoss()
    #expect(text("a/b/two", on: after) == "2-1")
  }

  @Test func `a name without a sync is either name, never half a file`() async throws {
    try part("1-1", "new").sync()
    _ = try publish("1-1", at: "f")
    let after = try await disk.afterPowerLoss()
    #expect([text("f", on: after), text("parts/1-1", on: after)].compactMap { $0 } == ["new"])
  }

  /// Without this one the others would prove nothing.
  @Test func `what nobody synced is lost`() async throws {
    _ = try part("1-1", "new")
    _ = try publish("1-1", at: "a/f")
    let after = try await disk.afterPowerLoss()
    #expect(text("a/f", on: after) == nil)
    #expect(text("parts/1-1", on: after) == nil)
  }
}
