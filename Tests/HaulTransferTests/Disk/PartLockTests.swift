import Foundation
import Glibc
import HaulSystem
import TestSupport
import Testing

@testable import HaulTransfer

/// Part files that somebody else looks at, or removes.
@Suite(.timeLimit(.minutes(2)))
struct PartLockTests {
  private let directory: TemporaryDirectory
  /// Waits for a lock for 50 seconds.
  private let parts: PartDirectory

  init() throws {
    directory = try TemporaryDirectory()
    parts = PartDirectory(
      try FileDescriptor.directory(directory.path), locksParts: true, lockTries: 10_000)
  }

  /// Somebody has the lock → the part is opened → `meanwhile` → the lock is free.
  private func open(_ meanwhile: () throws -> Void) async throws -> PartFile? {
    try directory.write("part", to: "a")
    let path = directory.path("a")
    let other = Glibc.open(path, O_RDWR)
    #expect(flock(other, LOCK_EX) == 0)
    var status = stat()
    fstat(other, &status)
    let opened = Watched<Result<PartFile?, TransferError>?>(nil)
    Thread { [parts, inode = UInt64(status.st_ino)] in
      let result = Result { () throws(TransferError) in
        try parts.open("a", inode: inode, holding: 4, of: 4)
      }
      opened.update { $0 = result }
    }.start()
    try await eventually("the part to be open") {
      let all = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")
      return all.count {
        (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\($0)")) == path
      } == 2
    }
    try meanwhile()
    close(other)
    return try await opened.first("the part") { $0 }.get()
  }

  @Test func `whoever looks at a part for a moment is not in the way`() async throws {
    #expect(try await open {} != nil)
  }

  @Test func `a part that is removed before it is locked is gone`() async throws {
    #expect(
      try await open { try FileManager.default.removeItem(atPath: directory.path("a")) } == nil)
    let other = try await open {
      try FileManager.default.removeItem(atPath: directory.path("a"))
      try directory.write("else", to: "a")
    }
    #expect(other == nil)
    // A program that another test starts may have the lock for a moment, until it runs: locks come along with fork(2).
    try await eventually("the other file to be removed") { try parts.discard("a") }
    #expect(try !parts.discard("a"))
  }
}
