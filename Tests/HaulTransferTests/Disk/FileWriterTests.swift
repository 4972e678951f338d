import Glibc
import HaulSystem
import Synchronization
import TestSupport
import Testing

@testable import HaulTransfer

@Suite struct FileWriterTests {
  let scratch: Scratch
  let pool: IOPool
  let buffers = BufferPool(capacity: 16, limit: 64, whenFreed: {})

  init() throws {
    scratch = try Scratch()
    pool = try IOPool(threads: 2)
  }

  private func buffer(_ text: String) throws -> GatherBuffer {
    let buffer = try #require(buffers.take())
    let bytes = Array(text.utf8)
    bytes.withUnsafeBytes { buffer.append($0) }
    return buffer
  }

  private func contents(_ part: PartFile) throws -> String {
    var bytes = [UInt8](repeating: 0, count: 100)
    let count = try bytes.withUnsafeMutableBytes { try part.read(into: $0, at: 0) }
    return String(decoding: bytes[..<count], as: UTF8.self)
  }

  private func digest(_ text: String) throws -> [UInt8] {
    let context = try DigestContext(.sha256)
    Array(text.utf8).withUnsafeBytes { context.update($0) }
    return context.finish()
  }

  @Test func `buffers are written in order and the digest runs along`() async throws {
    let part = try scratch.parts().create("1-1")
    let writer = FileWriter(
      part, durable: ByteRanges(), digests: [.sha256], pool: pool, whenReady: {})
    var offset: Int64 = 0
    for text in ["one ", "two ", "three"] {
      #expect(writer.write(try buffer(text), at: offset) != .failed)
      offset += Int64(text.utf8.count)
    }
    #expect(try await writer.flush() == ByteRanges(0..<13))
    #expect(try await writer.sync() == ByteRanges(0..<13))
    #expect(try contents(part) == "one two three")
    // From memory: the file holds something else by now.
    try Array("ONE".utf8).withUnsafeBytes { try part.write($0, at: 0) }
    #expect(try await writer.digest(.sha256, length: 13) == digest("one two three"))
    #expect(try await writer.digest(.sha256, length: 12) == digest("ONE two thre"))
  }

  @Test func `an overlap that is equal is skipped`() async throws {
    let part = try scratch.part("1-1", "one two ")
    let writer = FileWriter(
      part, durable: ByteRanges(0..<8), digests: [.sha256], pool: pool, whenReady: {})
    _ = writer.write(try buffer("two three"), at: 4, compareUntil: 8)
    #expect(try await writer.sync() == ByteRanges(0..<13))
    #expect(try contents(part) == "one two three")
    // The first bytes did not come this way, and are read back.
    #expect(try await writer.digest(.sha256, length: 13) == digest("one two three"))
  }

  @Test func `an overlap within one writer keeps the digest`() async throws {
    let part = try scratch.parts().create("1-1")
    let writer = FileWriter(
      part, durable: ByteRanges(), digests: [.sha256], pool: pool, whenReady: {})
    _ = writer.write(try buffer("one two "), at: 0)
    _ = writer.write(try buffer("two "), at: 4, compareUntil: 8)
    _ = writer.write(try buffer("three"), at: 8, compareUntil: 8)
    #expect(try await writer.sync() == ByteRanges(0..<13))
    #expect(try await writer.digest(.sha256, length: 13) == digest("one two three"))
  }

  @Test func `what is on the disk already is read once, and what follows is not read at all`()
    async throws
  {
    let pool = try IOPool(threads: 1)
    let part = try scratch.part("1-1", "one two ")
    let writer = FileWriter(
      part, durable: ByteRanges(0..<8), digests: [.sha256], pool: pool, whenReady: {})
    writer.catchUp()
    writer.catchUp()
    // One thread, and first in, first out: this runs when all has been read.
    await pool.run {}
    _ = writer.write(try buffer("two three"), at: 4, compareUntil: 8)
    #expect(try await writer.sync() == ByteRanges(0..<13))
    try Array("ONE two THREE".utf8).withUnsafeBytes { try part.write($0, at: 0) }
    #expect(try await writer.digest(.sha256, length: 13) == digest("one two three"))
  }

  @Test func `a digest that catches up late reads what came meanwhile`() async throws {
    let text = String(repeating: "0123456789abcdef", count: 200_000)
    let part = try scratch.part("1-1", text)
    let writer = FileWriter(
      part, durable: ByteRanges(0..<3_200_000), digests: [.md5], pool: pool, whenReady: {})
    writer.catchUp()
    for index in 0..<20 { _ = writer.write(try buffer("abcd"), at: 3_200_000 + 4 * Int64(index)) }
    _ = try await writer.sync()
    let context = try DigestContext(.md5)
    Array((text + String(repeating: "abcd", count: 20)).utf8).withUnsafeBytes {
      context.update($0)
    }
    #expect(try await writer.digest(.md5, length: 3_200_080) == context.finish())
  }

  @Test func `two digests are computed on the way, and nothing is read back`() async throws {
    let part = try scratch.parts().create("1-1")
    let writer = FileWriter(
      part, durable: ByteRanges(), digests: [.md5, .sha256], pool: pool, whenReady: {})
    _ = writer.write(try buffer("one two three"), at: 0)
    #expect(try await writer.sync() == ByteRanges(0..<13))
    try Array("ONE two THREE".utf8).withUnsafeBytes { try part.write($0, at: 0) }
    let context = try DigestContext(.md5)
    Array("one two three".utf8).withUnsafeBytes { context.update($0) }
    #expect(try await writer.digest(.md5, length: 13) == context.finish())
    #expect(try await writer.digest(.sha256, length: 13) == digest("one two three"))
  }

  @Test func `what did not come this way is read back once for both digests`() async throws {
    let part = try scratch.part("1-1", "one two ")
    let writer = FileWriter(
      part, durable: ByteRanges(0..<8), digests: [.md5, .sha256], pool: pool, whenReady: {})
    _ = writer.write(try buffer("three"), at: 8)
    #expect(try await writer.sync() == ByteRanges(0..<13))
    let context = try DigestContext(.md5)
    Array("one two three".utf8).withUnsafeBytes { context.update($0) }
    #expect(try await writer.digest(.md5, length: 13) == context.finish())
    try Array("ONE".utf8).withUnsafeBytes { try part.write($0, at: 0) }
    #expect(try await writer.digest(.sha256, length: 13) == digest("one two three"))
  }

  @Test(arguments: ["twO three", "tw", "Two "])
  func `an overlap that differs stops everything before a byte is written`(
    _ text: String
  ) async throws {
    let part = try scratch.part("1-1", "one two ")
    let writer = FileWriter(
      part, durable: ByteRanges(0..<8), digests: [], pool: pool, whenReady: {})
    _ = writer.write(try buffer(text), at: 4, compareUntil: 8)
    _ = writer.write(try buffer("XX"), at: 6, compareUntil: 8)
    _ = writer.write(try buffer("more"), at: 8)
    await #expect(throws: FileWriter.Failure.overlapDiffers) { try await writer.sync() }
    #expect(try contents(part) == "one two ")
    #expect(writer.write(try buffer("more"), at: 8) == .failed)
  }

  @Test func `whoever is ahead is told to wait, and when to go on`() async throws {
    let part = try scratch.parts().create("1-1")
    let one = try IOPool(threads: 1)
    let blocked = Gate("thread taken")
    let ready = Gate("ready")
    let calls = Atomic(0)
    let release = Gate("release")
    one.submit {
      blocked.open()
      #expect(throws: Never.self) { try release.waitBlocking() }
    }
    try await blocked.wait()
    let writer = FileWriter(part, durable: ByteRanges(), digests: [], pool: one, limit: 3) {
      calls.add(1, ordering: .relaxed)
      ready.open()
    }
    #expect(writer.write(try buffer("a"), at: 0) == .ready)
    #expect(writer.write(try buffer("b"), at: 1) == .ready)
    #expect(writer.write(try buffer("c"), at: 2) == .behind)
    #expect(writer.write(try buffer("d"), at: 3) == .behind)
    #expect(calls.load(ordering: .relaxed) == 0)
    release.open()
    try await ready.wait()
    #expect(try await writer.flush() == ByteRanges(0..<4))
    #expect(calls.load(ordering: .relaxed) == 1)
    #expect(writer.write(try buffer("e"), at: 4) == .ready)
    #expect(try await writer.flush() == ByteRanges(0..<5))
  }

  @Test(.enabled(if: getuid() == 0, "mounting takes root"))
  func `a full disk fails the sync, and nothing is called durable`() async throws {
    let small = try await TestFileSystem(tmpfs: 65_536)
    let parts = PartDirectory(try FileDescriptor.directory(small.path))
    let part = try parts.create("1-1")
    let writer = FileWriter(part, durable: ByteRanges(), digests: [], pool: pool, whenReady: {})
    _ = writer.write(try buffer("fits"), at: 0)
    let filler = try parts.create("2-1")
    #expect(try await writer.sync() == ByteRanges(0..<4))
    #expect(throws: TransferError.self) {
      try write(String(repeating: "x", count: 70_000), to: filler, at: 0)
    }
    _ = writer.write(try buffer("does not fit"), at: 4096)
    let error = await #expect(throws: FileWriter.Failure.self) { try await writer.sync() }
    guard case .file(let cause)? = error else {
      Issue.record("\(String(describing: error))")
      return
    }
    #expect(cause.errorClass == .diskFull)
  }
}

@Suite struct IOPoolTests {
  @Test func `one file's work is serial and in order, over several threads`() async throws {
    let pool = try IOPool(threads: 3)
    let seen = Mutex<[[Int]]>(Array(repeating: [], count: 4))
    let files = (0..<4).map { _ in SerialIO(pool) }
    for step in 0..<200 {
      for (index, file) in files.enumerated() {
        file.submit { seen.withLock { $0[index].append(step) } }
      }
    }
    for file in files { await file.run {} }
    #expect(seen.withLock { $0 } == Array(repeating: Array(0..<200), count: 4))
  }

  @Test func `gives the value or the error`() async throws {
    let pool = try IOPool(threads: 1)
    #expect(await pool.run { 7 } == 7)
    await #expect(throws: TransferError(.io, "x")) {
      try await pool.run { () throws(TransferError) -> Int in throw TransferError(.io, "x") }
    }
  }

  @Test func `what was submitted runs, though the pool is let go`() async throws {
    let gate = Gate("all ran")
    let ran = Atomic(0)
    do {
      let pool = try IOPool(threads: 2)
      for _ in 0..<50 {
        pool.submit { if ran.add(1, ordering: .relaxed).newValue == 50 { gate.open() } }
      }
    }
    try await gate.wait()
    #expect(ran.load(ordering: .relaxed) == 50)
  }
}
