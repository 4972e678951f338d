import Foundation
import TestSupport
import Testing

/// File systems that fill up and lose power.
@Suite(.enabled("only root can mount") { await TestFileSystem.isPossible })
struct TestFileSystemTests {
  @Test func `a tmpfs runs out of space`() async throws {
    let system = try await TestFileSystem(tmpfs: 1 << 20)
    let result = try await ChildProcess.run(
      "dd", ["if=/dev/zero", "of=\(system.path)/file", "bs=64k", "count=32"])
    #expect(result.exit == .code(1))
    #expect(result.standardError.contains { $0.contains("No space left on device") })
  }

  @Test func `what was synced is there after a loss of power, what was not is not`() async throws {
    let system = try await TestFileSystem(ext4: 64 << 20)
    for (name, sync) in [("synced", ["conv=fsync"]), ("lost", [])] {
      let result = try await ChildProcess.run(
        "dd", ["if=/dev/zero", "of=\(system.path)/\(name)", "bs=64k", "count=4"] + sync)
      #expect(result.exit == .code(0))
    }
    let left = try await system.afterPowerLoss()
    let size = try FileManager.default.attributesOfItem(atPath: "\(left.path)/synced")[.size]
    #expect(size as? Int == 4 << 16)
    #expect(try FileTree.files(below: left.path) == ["synced"])
  }
}
