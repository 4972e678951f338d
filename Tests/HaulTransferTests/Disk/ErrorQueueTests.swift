import Dispatch
import Foundation
import Glibc
import TestSupport
import Testing

@testable import HaulSystem

/// Messages to a reader that does not read.
struct ErrorQueueTests {
  private final class Pipe: Sendable {
    let ends: (read: Int32, write: Int32)

    init() {
      var ends: [Int32] = [0, 0]
      unsafe pipe(&ends)
      self.ends = (ends[0], ends[1])
    }

    deinit {
      close(ends.read)
      close(ends.write)
    }

    /// What is there, or comes next.
    func readSome() -> String {
      var piece = [UInt8](repeating: 0, count: 65_536)
      let got = unsafe Glibc.read(ends.read, &piece, piece.count)
      return String(decoding: piece.prefix(max(got, 0)), as: UTF8.self)
    }

    /// As much as comes until `count` bytes are read.
    func read(_ count: Int) -> [UInt8] {
      var (all, piece) = ([UInt8](), [UInt8](repeating: 0, count: 65_536))
      while all.count < count {
        let got = unsafe Glibc.read(ends.read, &piece, min(piece.count, count - all.count))
        if got <= 0 { break }
        all += piece.prefix(got)
      }
      return all
    }
  }

  @Test func `while the reader keeps up, a message is written at once`() {
    let pipe = Pipe()
    let queue = ErrorQueue(pipe.ends.write)
    queue.append(Array("one\n".utf8))
    queue.append(Array("two\n".utf8))
    #expect(pipe.read(8) == Array("one\ntwo\n".utf8))
  }

  /// A terminal that Ctrl-S has stopped says that it can be written to, and then takes one byte or none.
  @Test(.timeLimit(.minutes(1)))
  func `a terminal that is stopped holds nobody up`() throws {
    // pts(4), ioctl_tty(2): TIOCSPTLCK and TIOCGPTN, which Glibc's module leaves out.
    let near = open("/dev/ptmx", O_RDWR | O_NOCTTY)
    try #require(near >= 0)
    defer { close(near) }
    var (lock, number) = (Int32(0), Int32(0))
    try #require(unsafe ioctl(near, 0x4004_5431, &lock) == 0)
    try #require(unsafe ioctl(near, 0x8004_5430, &number) == 0)
    let far = open("/dev/pts/\(number)", O_RDWR | O_NOCTTY)
    try #require(far >= 0)
    let queue = ErrorQueue(far)
    let line = [UInt8](repeating: UInt8(ascii: "x"), count: 999) + [10]
    for _ in 0..<500 { queue.append(line) }
    // The thread's write ends with the other side.
  }

  /// Two processes write to one pipe. Both may see the same room in it, and then the second used to wait with its lock held:
  /// whoever logged stood still, and no signal ended the process.
  @Test(.timeLimit(.minutes(1)))
  func `writers of one pipe do not wait for its reader`() async throws {
    let pipe = Pipe()
    // Room for two pieces. (fcntl(2): F_SETPIPE_SZ)
    try #require(fcntl(pipe.ends.write, 1031, 8192) == 8192)
    let piece = [UInt8](repeating: UInt8(ascii: "x"), count: 4096)
    let rounds = Watched(0)
    Thread.detachNewThread {
      let queues = (0..<2).map { _ in ErrorQueue(pipe.ends.write) }
      for _ in 0..<2000 {
        queues[0].append(piece)
        DispatchQueue.concurrentPerform(iterations: 2) { queues[$0].append(piece) }
        _ = pipe.read(3 * piece.count)
        for queue in queues { queue.flush(within: .seconds(30)) }
        rounds.update { $0 += 1 }
      }
    }
    try await rounds.first("all rounds", within: .seconds(50)) { $0 == 2000 ? () : nil }
  }

  /// It used to hold up whoever logged, who held leases and did nothing.
  @Test func `a reader that does not read holds nobody up, and learns what it missed`() async throws
  {
    let pipe = Pipe()
    let queue = ErrorQueue(pipe.ends.write)
    let line = [UInt8](repeating: UInt8(ascii: "x"), count: 999) + [10]
    for _ in 0..<3000 { queue.append(line) }
    queue.flush(within: .milliseconds(10))
    async let text = Task.detached {
      var text = ""
      while !text.contains("were lost") { text += pipe.readSome() }
      return text
    }.value
    let read = await text
    #expect(read.hasPrefix(String(decoding: line, as: UTF8.self)))
    #expect(read.count > 1 << 20 && read.count < 2 << 20)
    let lost = try #require(read.firstMatch(of: #/haul: ([0-9]+) messages were lost/#)?.1)
    // What was not lost has come.
    #expect((Int(lost) ?? 0) + (read.count / 1000) >= 3000)
  }
}
