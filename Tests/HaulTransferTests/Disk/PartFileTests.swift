import Foundation
import Glibc
import HaulSystem
import TestSupport
import Testing

@testable import HaulTransfer

@Suite struct PartFileTests {
  let scratch: Scratch
  let parts: PartDirectory

  init() throws {
    scratch = try Scratch()
    parts = try scratch.parts()
  }

  private func text(_ part: PartFile, _ count: Int, at offset: Int64) throws -> String {
    var bytes = [UInt8](repeating: 0, count: count)
    let read = try bytes.withUnsafeMutableBytes { try part.read(into: $0, at: offset) }
    return String(decoding: bytes[..<read], as: UTF8.self)
  }

  @Test func `bytes stand where they were written`() throws {
    let part = try parts.create("1-1")
    try write("world", to: part, at: 6)
    try write("hello ", to: part, at: 0)
    #expect(try text(part, 100, at: 0) == "hello world")
    #expect(try text(part, 3, at: 6) == "wor")
    #expect(try part.size() == 11)
    try part.syncData()
    try part.sync()
    let same = Array("world".utf8)
    #expect(try same.withUnsafeBytes { try part.holds($0, at: 6) })
    #expect(try !same.withUnsafeBytes { try part.holds($0, at: 5) })
    #expect(try !same.withUnsafeBytes { try part.holds($0, at: 7) })
    #expect(try part.holds(UnsafeRawBufferPointer(start: nil, count: 0), at: 99))
  }

  @Test func `a new part file is new`() throws {
    _ = try parts.create("1-1")
    let taken = #expect(throws: TransferError.self) { try parts.create("1-1") }
    #expect(taken?.errorClass == .io)
    symlink("/etc/passwd", scratch.path + "/parts/link")
    symlink("nowhere", scratch.path + "/parts/dangling")
    #expect(throws: TransferError.self) { try parts.create("link") }
    #expect(throws: TransferError.self) { try parts.create("dangling") }
    #expect(!scratch.exists("parts/nowhere"))
    #expect(throws: TransferError.self) { try parts.create("../outside") }
    #expect(!scratch.exists("outside"))
    let long = #expect(throws: TransferError.self) {
      try parts.create(String(repeating: "x", count: 256))
    }
    #expect(long?.message.contains("File name too long") == true)
  }

  @Test func `only the file that the checkpoint means is opened`() throws {
    let part = try scratch.part("1-1", "hello")
    #expect(try parts.open("1-1", inode: part.inode, holding: 5, of: 5)?.inode == part.inode)
    #expect(try parts.open("1-1", inode: part.inode, holding: 6, of: 9) == nil)
    #expect(try parts.open("1-1", inode: part.inode, holding: 3, of: 4) == nil)
    #expect(try parts.open("1-1", inode: part.inode + 1, holding: 5, of: 5) == nil)
    #expect(try parts.open("1-2", inode: part.inode, holding: 5, of: 5) == nil)
    symlink("1-1", scratch.path + "/parts/link")
    #expect(try parts.open("link", inode: part.inode, holding: 5, of: 5) == nil)
    mkdir(scratch.path + "/parts/dir", 0o777)
    #expect(try parts.open("dir", inode: part.inode, holding: 0, of: 5) == nil)
  }

  @Test func `whoever takes over renames, and the old name finds nothing`() throws {
    let part = try scratch.part("1-1", "hello")
    #expect(try parts.rename("1-1", to: "1-2"))
    #expect(try !parts.rename("1-1", to: "1-3"))
    #expect(try parts.open("1-1", inode: part.inode, holding: 0, of: 5) == nil)
    let mine = try #require(try parts.open("1-2", inode: part.inode, holding: 5, of: 5))
    // The one who lost it still writes to the same file, not to a new one.
    try write("HELLO", to: part, at: 0)
    #expect(try text(mine, 5, at: 0) == "HELLO")
    _ = try parts.create("2-1")
    #expect(try Set(parts.names(startingWith: "")) == ["1-2", "2-1"])
    #expect(try parts.names(startingWith: "1-") == ["1-2"])
    try parts.remove("1-2")
    try parts.remove("1-2")
    #expect(try parts.names(startingWith: "") == ["2-1"])
  }

  @Test(arguments: [
    (ENOSPC, TransferError.Class.diskFull), (EDQUOT, .diskFull), (ENOTDIR, .pathConflict),
    (EISDIR, .pathConflict), (ELOOP, .pathConflict), (EIO, .io), (EACCES, .notPermitted),
    (EPERM, .notPermitted),
    (EROFS, .notPermitted),
    (ESTALE, .io), (12345, .io),
  ])
  func `error numbers and their classes`(_ number: Int32, _ errorClass: TransferError.Class) {
    #expect(TransferError.file(number, "x").errorClass == errorClass)
    #expect(TransferError.file(number, "x").message.hasPrefix("x: "))
  }

  /// A real quota takes a kernel that has a format for them: what the number leads to is looked at here.
  @Test(
    arguments: [
      (ENOSPC, 5, "the file needs 1 MiB, but the disk has only 0 MiB free"),
      (EFBIG, 50, "the file needs 1 MiB, but the disk has only 0 MiB free"),
      (EDQUOT, 50, "the file needs 1 MiB, but the disk quota leaves less space"),
      (EOPNOTSUPP, 5, "the file needs 1 MiB, but the disk has only 0 MiB free"),
      (EOPNOTSUPP, 10, nil),
    ] as [(Int32, Int64, String?)])
  func `room that cannot be set aside`(_ number: Int32, _ free: Int64, _ message: String?) {
    let shortage = PartFile.shortage(of: 10, after: number, free: free)
    #expect(shortage == message.map { TransferError(.diskFull, $0) })
  }

  @Test func `no length is too long to be told`() {
    let shortage = PartFile.shortage(of: .max, after: EFBIG, free: .max)
    #expect(
      shortage?.message
        == "the file needs 8796093022208 MiB, but the disk has only 8796093022207 MiB free")
  }

  @Test(.enabled(if: getuid() == 0, "mounting takes root"))
  func `a full file system is told apart`() async throws {
    let system = try await TestFileSystem(tmpfs: 65_536)
    let small = PartDirectory(try FileDescriptor.directory(system.path))
    let part = try small.create("1-1")
    let error = #expect(throws: TransferError.self) {
      try write(String(repeating: "x", count: 200_000), to: part, at: 0)
    }
    #expect(error?.errorClass == .diskFull)
    #expect(try part.size() == 65_536)
  }

  @Test func `reading back for a digest ends when nobody wants it any more`() throws {
    let part = try scratch.part("1-1", String(repeating: "x", count: 3 << 20))
    var blocks = 0
    let error = #expect(throws: TransferError.self) {
      try part.digest(.sha256, length: 3 << 20) {
        blocks += 1
        return blocks < 3
      }
    }
    #expect(error?.errorClass == .cancelled && blocks == 3)
  }
}
