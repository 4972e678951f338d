import Glibc
import HaulSystem

/// A file read from its start, or standard input. Every call that may block (a pipe, a terminal, a network file system) runs on
/// a separate thread, never on Swift's cooperative threads.
///
/// Cancelling the task does not interrupt a read that waits for input.
final class BlockingFile: Sendable {
  private let descriptor: Int32
  private let isOwned: Bool

  private init(descriptor: Int32, isOwned: Bool) {
    self.descriptor = descriptor
    self.isOwned = isOwned
  }

  deinit {
    if isOwned { close(descriptor) }
  }

  static func open(_ source: ListSource) async throws(ListError) -> BlockingFile {
    guard case .file(let path) = source else {
      return BlockingFile(descriptor: STDIN_FILENO, isOwned: false)
    }
    let result = await onThread {
      let descriptor = unsafe Glibc.open(path, O_RDONLY | O_CLOEXEC)
      return descriptor < 0
        ? Result<Int32, ListError>.failure(.unreadable(code: errno))
        : .success(descriptor)
    }
    return BlockingFile(descriptor: try result.get(), isOwned: true)
  }

  /// Returns the next bytes, at most `size`. Returns no bytes at the end.
  func read(atMost size: Int) async throws(ListError) -> [UInt8] {
    let result = await onThread { [self] in
      var code: Int32 = 0
      let bytes = unsafe [UInt8](unsafeUninitializedCapacity: size) { buffer, count in
        var got: Int
        repeat {
          got = unsafe Glibc.read(descriptor, buffer.baseAddress, size)
        } while got < 0 && errno == EINTR
        if got < 0 { code = errno }
        count = max(got, 0)
      }
      return code == 0
        ? Result<[UInt8], ListError>.success(bytes)
        : .failure(.unreadable(code: code))
    }
    return try result.get()
  }
}

/// Runs `body` on a new thread and returns its result. If the system cannot create a thread, runs `body` on the caller's
/// thread.
private func onThread<Value: Sendable>(_ body: @escaping @Sendable () -> Value) async -> Value {
  await withCheckedContinuation { continuation in
    let work: @Sendable () -> Void = { continuation.resume(returning: body()) }
    if !DetachedThread.start(work) { work() }
  }
}
