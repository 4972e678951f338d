import FoundationEssentials
import Glibc
import HaulCLinux
import HaulSystem
import Synchronization

/// A command run by /bin/sh in a session of its own, so that input at the terminal does not reach it. Its output goes to this
/// process's standard error.
final class HookProcess: Sendable {
  enum Exit: Sendable {
    case code(Int32)
    case signal(Int32)
  }

  struct Failure: Error {
    let reason: String
  }

  private enum Life {
    /// The command is running, and a task may wait for its end. The next state is `ended`.
    case running(CheckedContinuation<Exit, Never>?)
    case ended(Exit)
  }

  private static let ownVariables: Set<String> = [
    "CREDENTIALS_DIRECTORY", "HAUL_DATABASE_URL", "NOTIFY_SOCKET", "WATCHDOG_PID", "WATCHDOG_USEC",
  ]

  private let pid: pid_t
  private let life = Mutex(Life.running(nil))

  /// Starts the command with `variables` and this process's environment, without the variables that lead to the database or
  /// to systemd. (sd_notify(3), systemd.exec(5): CREDENTIALS_DIRECTORY)
  init(_ command: String, _ variables: [String: String]) throws(Failure) {
    let environment = ProcessInfo.processInfo.environment.filter {
      !Self.ownVariables.contains($0.key) && !$0.key.hasPrefix("PG")
    }.merging(variables) { _, new in new }
    pid = try Self.spawn(["/bin/sh", "-c", command], environment.map { "\($0)=\($1)" })
    // A separate thread waits as long as the command runs.
    guard DetachedThread.start({ [self] in collect() }) else {
      _ = Glibc.kill(-pid, SIGKILL)
      collect()
      throw Failure(reason: "cannot start a thread that waits for the command")
    }
  }

  /// Kills the command and the processes that it has started.
  func kill() {
    life.withLock { life in
      // Until the process is collected, no other process can get its id.
      if case .running = life { _ = Glibc.kill(-pid, SIGKILL) }
    }
  }

  /// Waits for the command's end. Call this only once.
  func exit() async -> Exit {
    await withCheckedContinuation { waiter in
      let exit = life.withLock { life -> Exit? in
        if case .ended(let exit) = life { return exit }
        life = .running(waiter)
        return nil
      }
      if let exit { waiter.resume(returning: exit) }
    }
  }

  private func collect() {
    var information = unsafe siginfo_t()
    // With WNOWAIT, the ended process keeps its id until it is collected below under the lock. So `kill` cannot hit another
    // process.
    while unsafe waitid(P_PID, id_t(pid), &information, WEXITED | WNOWAIT) < 0, errno == EINTR {}
    let (waiter, exit) = life.withLock { life in
      var status: Int32 = 0
      while unsafe waitpid(pid, &status, 0) < 0 && errno == EINTR {}
      let signal = status & 0x7f
      let exit = signal == 0 ? Exit.code((status >> 8) & 0xff) : .signal(signal)
      defer { life = .ended(exit) }
      if case .running(let waiter) = life { return (waiter, exit) }
      return (nil, exit)
    }
    waiter?.resume(returning: exit)
  }

  private static func spawn(
    _ arguments: [String], _ environment: [String]
  ) throws(Failure) -> pid_t {
    var started: pid_t = 0
    let code = unsafe CStrings.withMutable(arguments) { arguments in
      unsafe CStrings.withMutable(environment) { environment in
        unsafe ".".withCString { here in
          var program = unsafe haul_program(
            path: arguments[0], arguments: arguments, environment: environment, directory: here,
            input: -1, output: STDERR_FILENO, is_private: 0, drops: 0, user: 0, group: 0,
            groups: nil, group_count: 0)
          return unsafe haul_start(&program, &started)
        }
      }
    }
    guard code == 0 else { throw Failure(reason: SystemError.reason(code)) }
    return started
  }
}
