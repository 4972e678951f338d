import Glibc
import HaulCLinux
import HaulSystem
import Synchronization

/// A running program of PostgreSQL. It has its own session, so signals from the terminal do not reach it, and it outlives the
/// caller.
final class ServerProgram: Sendable {
  let pid: pid_t
  private let life = Mutex(Life.running(nil))

  private enum Life {
    /// The program is running, and a task may wait for its end. The next state is `ended`.
    case running(CheckedContinuation<Int32, Never>?)
    /// The program has ended. The number is its exit status from waitpid(2).
    case ended(Int32)
  }

  /// Starts the program as `user`, with a minimal environment and the working directory `directory`.
  ///
  /// - Parameter input: the standard input; -1 for none.
  /// - Throws: the error of the failed system call, such as execve(2).
  init(
    _ path: String, _ arguments: [String], as user: ServerUser, in directory: String,
    input: Int32 = -1, output: Int32
  ) throws(EmbeddedPostgresError) {
    var started: pid_t = 0
    let failure = Self.start(
      [path] + arguments, user, directory: directory, input: input, output: output, &started)
    guard failure == 0 else { throw .failed(path, failure) }
    pid = started
    // A separate thread collects the program's status, so that no zombie is left while the caller continues.
    let isWatched = DetachedThread.start { [self] in
      var status: Int32 = 0
      while unsafe waitpid(pid, &status, 0) < 0 && errno == EINTR {}
      finish(status)
    }
    guard isWatched else {
      kill(pid, SIGKILL)
      throw .failed(path, EAGAIN)
    }
  }

  /// Whether the program has ended.
  var hasEnded: Bool {
    life.withLock { if case .ended = $0 { true } else { false } }
  }

  private func finish(_ status: Int32) {
    let waiter = life.withLock { life -> CheckedContinuation<Int32, Never>? in
      defer { life = .ended(status) }
      if case .running(let waiter) = life { return waiter }
      return nil
    }
    waiter?.resume(returning: status)
  }

  /// Waits for the end of the program. Call it only once. Cancellation kills the program and all processes that it started.
  private func end() async -> Int32 {
    await withTaskCancellationHandler {
      await withCheckedContinuation { waiter in
        let status = life.withLock { life -> Int32? in
          if case .ended(let status) = life { return status }
          life = .running(waiter)
          return nil
        }
        if let status { waiter.resume(returning: status) }
      }
    } onCancel: {
      life.withLock { life in
        // Until the process is collected, no other process can have its id.
        if case .running = life { _ = kill(-pid, SIGKILL) }
      }
    }
  }

  /// Runs a program to its end.
  ///
  /// `turn` becomes its standard input, so that the lock is held until the program ends, even if the caller is killed. No other
  /// process then works on these files.
  ///
  /// - Returns: the output, up to 64 KiB, and whether the exit code was 0.
  /// - Throws: `cancelled`, or the error if the program cannot be started. A failure of the program is not an error.
  static func run(
    _ path: String, _ arguments: [String], as user: ServerUser, holding turn: FileLock? = nil
  ) async throws(EmbeddedPostgresError) -> (output: String, succeeded: Bool) {
    let memory = unsafe haul_memory_file("haul")
    guard memory >= 0 else { throw .failed(path, errno) }
    defer { close(memory) }
    let program = try ServerProgram(
      path, arguments, as: user, in: "/", input: turn?.descriptor ?? -1, output: memory)
    let status = await program.end()
    if Task.isCancelled { throw .cancelled }
    return (SmallFile.read(memory), status == 0)
  }

  private static func start(
    _ arguments: [String], _ user: ServerUser, directory: String, input: Int32, output: Int32,
    _ pid: inout pid_t
  ) -> Int32 {
    // Use English messages, so that Haul can interpret them, and no variables of libpq.
    let environment = ["LC_ALL=C.UTF-8", "PATH=/usr/local/bin:/usr/bin:/bin"]
    let groups = user.isForRoot ? user.groups : []
    return unsafe CStrings.withMutable(arguments) { arguments in
      unsafe CStrings.withMutable(environment) { environment in
        unsafe groups.withUnsafeBufferPointer { groups in
          unsafe directory.withCString { directory in
            var program = unsafe haul_program(
              path: arguments[0], arguments: arguments, environment: environment,
              directory: directory, input: input, output: output, is_private: 1,
              drops: user.isForRoot ? 1 : 0,
              user: user.id, group: user.group, groups: groups.baseAddress,
              group_count: groups.count)
            return unsafe haul_start(&program, &pid)
          }
        }
      }
    }
  }
}
