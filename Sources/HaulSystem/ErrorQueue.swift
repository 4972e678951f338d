import Glibc
import Synchronization

/// A queue of text for standard error, so that a slow reader delays no thread.
///
/// While the reader keeps up, a piece is written before ``append(_:)`` returns, so a killed process loses no text. Otherwise
/// pieces wait for a separate thread, up to ``limit`` bytes. Further pieces are lost and counted.
final class ErrorQueue: Sendable {
  private struct State {
    var waiting: [[UInt8]] = []
    var bytes = 0
    /// The number of pieces lost since the reader last read.
    var lost = 0
    /// Whether the thread writes, or is about to.
    var isWriting = false
    /// Whether a terminal did not accept a piece in time. Until the terminal has accepted everything, no thread waits for it.
    var isStalled = false
  }

  static let shared = ErrorQueue(STDERR_FILENO)

  private static let limit = 1 << 20
  /// The number of bytes that a writable pipe accepts without blocking. (pipe(7): PIPE_BUF)
  private static let atOnce = 4096

  /// A way to write a piece without waiting for the reader.
  private enum Way {
    /// Only the separate thread writes, because a terminal may report that it is writable, accept a single byte and then block
    /// the writer.
    case thread
    /// The caller writes through a second, non-blocking open file description of the pipe (O_NONBLOCK). This file description
    /// belongs to this process, so other processes are not affected.
    case pipe(Int32)
    case socket
    /// The caller first asks poll(2) whether a write would block. This is for files, and for pipes that cannot be opened again.
    case poll
  }

  private let file: Int32
  private let way: Way
  private let state = Mutex(State())

  init(_ file: Int32) {
    self.file = file
    way = Self.way(to: file)
  }

  deinit {
    if case .pipe(let end) = way { close(end) }
  }

  private static func way(to file: Int32) -> Way {
    if isatty(file) == 1 { return .thread }
    var status = stat()
    guard unsafe fstat(file, &status) == 0 else { return .poll }
    switch status.st_mode & S_IFMT {
    case S_IFSOCK: return .socket
    case S_IFIFO:
      let end = unsafe open("/proc/self/fd/\(file)", O_WRONLY | O_NONBLOCK | O_CLOEXEC)
      return end < 0 ? .poll : .pipe(end)
    default: return .poll
    }
  }

  /// Writes `bytes` now or later. Blocks for at most 100 ms, and only once while a terminal is stopped.
  func append(_ bytes: [UInt8]) {
    let begins = state.withLock { state -> Bool in
      var bytes = bytes
      if !state.isWriting, bytes.count <= Self.atOnce {
        bytes.removeFirst(writeAtOnce(bytes))
        if bytes.isEmpty { return false }
      }
      guard state.bytes + bytes.count <= Self.limit else {
        state.lost += 1
        return false
      }
      state.waiting.append(bytes)
      state.bytes += bytes.count
      defer { state.isWriting = true }
      return !state.isWriting
    }
    // If no thread can be created, the caller itself writes all waiting pieces, and waits for the reader.
    if begins, !DetachedThread.start({ self.drain() }) { drain() }
    if case .thread = way, !state.withLock(\.isStalled) {
      // Text that standard output writes to the terminal later must come after this text.
      flush(within: .milliseconds(100))
      state.withLock { $0.isStalled = $0.isWriting }
    }
  }

  /// Returns when everything is written, or after `time`.
  func flush(within time: Duration) {
    let end = ContinuousClock.now + time
    while state.withLock(\.isWriting), ContinuousClock.now < end { usleep(100) }
  }

  /// Writes waiting pieces until none is left.
  private func drain() {
    while let bytes = next() { write(bytes) }
  }

  private func next() -> [UInt8]? {
    state.withLock { state in
      if state.waiting.isEmpty {
        guard state.lost > 0 else {
          state.isWriting = false
          state.isStalled = false
          return nil
        }
        defer { state.lost = 0 }
        return Array(
          "haul: \(state.lost == 1 ? "1 message was" : "\(state.lost) messages were") lost because the reader of standard error was too slow\n"
            .utf8)
      }
      let bytes = state.waiting.removeFirst()
      state.bytes -= bytes.count
      return bytes
    }
  }

  /// Writes as much as the reader has room for now, and returns the number of bytes. Bytes that can never be written count as
  /// written.
  ///
  /// Another process may write to the same pipe and take the room that poll(2) saw. So poll(2) is used only where a write
  /// cannot say that it would block.
  private func writeAtOnce(_ bytes: [UInt8]) -> Int {
    var count: Int
    repeat {
      switch way {
      case .thread: return 0
      case .pipe(let end): count = unsafe Glibc.write(end, bytes, bytes.count)
      case .socket: count = unsafe send(file, bytes, bytes.count, Int32(MSG_DONTWAIT))
      case .poll:
        if !takesMore { return 0 }
        write(bytes)
        return bytes.count
      }
    } while count < 0 && errno == EINTR
    if count < 0 { return errno == EAGAIN ? 0 : bytes.count }
    return count
  }

  /// Whether poll(2) says that the file can be written to.
  private var takesMore: Bool {
    var entry = pollfd(fd: file, events: Int16(POLLOUT), revents: 0)
    return unsafe poll(&entry, 1, 0) == 1 && entry.revents & Int16(POLLOUT) != 0
  }

  /// Writes all bytes. Bytes that cannot be written are lost: there is no other place to report that.
  private func write(_ bytes: [UInt8]) {
    var written = 0
    while written < bytes.count {
      let count = unsafe bytes.withUnsafeBytes { buffer in
        unsafe Glibc.write(
          file, buffer.baseAddress?.advanced(by: written), buffer.count - written)
      }
      if count < 0 && errno == EINTR { continue }
      if count <= 0 { return }
      written += count
    }
  }
}
