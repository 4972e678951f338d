import Foundation
import HaulSystem
import HaulTransfer
import Synchronization
import TestSupport
import Testing

@testable import Stores

/// A real disk that loses what is written to it. The kernel tells of each loss once, and takes the bytes for written from then on.
@Suite(.enabled("mounting takes root and loop devices") { await TestFileSystem.isPossible })
struct LostWriteTests {
  private let disk: TestFileSystem
  private let rounds: Rounds
  private let bytes = [UInt8](repeating: UInt8(ascii: "x"), count: 10_000)

  init() async throws {
    disk = try await TestFileSystem(losing: 32 << 20)
    rounds = try Rounds(below: disk.path)
  }

  /// Publishes files of that name together. Returns those that got their name; each other one was refused for the
  /// disk's sake.
  private func together(_ parts: [PartFile], _ commit: GroupCommit) async throws -> [String] {
    let named = Watched<[String]>([])
    _ = try await rounds.together(parts.map(\.name), commit) { name in
      guard let part = parts.first(where: { $0.name == name }) else { return nil }
      do {
        return try await rounds.publish(part, by: commit, noting: named)
      } catch let error as TransferError {
        // As the device says, which passes on that its own ground is full, or not.
        #expect([.io, .diskFull].contains(error.errorClass), "\(error)")
        return nil
      }
    }
    return named.value.sorted()
  }

  private func part(_ name: String) throws -> PartFile {
    let part = try rounds.parts.create(name)
    try rounds.write(bytes, to: part)
    return part
  }

  @Test func `no file gets its name that the disk has lost`() async throws {
    let outcomes = Watched<[Bool]>([])
    let clock = Mutex(ContinuousClock.now)
    let commit = GroupCommit(
      syncAll: { [root = rounds.root] () throws(TransferError) in
        do throws(TransferError) {
          try root.syncFileSystem()
          outcomes.update { $0.append(true) }
        } catch {
          outcomes.update { $0.append(false) }
          throw error
        }
      }, now: { clock.withLock { $0 } })
    let (lost, early) = try await disk.loseWrites {
      // Still being written when the sync of everything fails: it fails for this one's bytes too.
      let early = try part("early")
      let lost = try (1...4).map { try part("lost\($0)") }
      clock.withLock { $0 = .now }
      return (try await together(lost, commit), early)
    }
    #expect(lost == [])
    #expect(outcomes.value == [false])

    // The disk is well again, and a sync of everything has nothing to complain of.
    clock.withLock { $0 = .now + .seconds(31) }
    let new = try (1...4).map { try part("new\($0)") }
    let names = try await together([early] + new, commit)
    #expect(names == ["new1", "new2", "new3", "new4"])
    #expect(outcomes.value == [false, true, true])

    let left = try await disk.afterPowerLoss()
    for name in names {
      #expect(FileManager.default.contents(atPath: "\(left.path)/d/\(name)") == Data(bytes))
    }
  }
}
