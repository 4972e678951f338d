import CLinux
import Glibc
import Postgres
import Synchronization

/// A program of PostgreSQL's that runs, in a session of its own: what is typed at the terminal does not
/// reach it, and it outlives the caller.
final class ServerProgram: Sendable {
  let pid: pid_t
  /// As waitpid(2) gives it; nil while it runs.
  private let ending = Mutex<Int32?>(nil)

  /// Starts it as `user`, with a bare environment.
  ///
  /// - Throws: the failure of the system call that did not succeed, execve(2) among them.
  init(
    _ path: String, _ arguments: [String], as user: ServerUser, output: Int32
  ) throws(EmbeddedPostgresError) {
    var started: pid_t = 0
    let failure = Self.start([path] + arguments, user, output, &started)
    guard failure == 0 else { throw .failed(path, failure) }
    pid = started
    // A thread of its own collects it, so that nothing of it is left while the caller goes on.
    let isWatched = DetachedThread.start { [self] in
      var status: Int32 = 0
      while unsafe waitpid(pid, &status, 0) < 0 && errno == EINTR {}
      ending.withLock { $0 = status }
    }
    guard isWatched else {
      kill(pid, SIGKILL)
      throw .failed(path, EAGAIN)
    }
  }

  /// Whether it has ended.
  var hasEnded: Bool { ending.withLock { $0 != nil } }

  /// Runs it to its end, which is not hurried by cancellation.
  ///
  /// - Returns: what it wrote, up to 64 KiB, and whether it ended with code 0.
  static func run(
    _ path: String, _ arguments: [String], as user: ServerUser
  ) async throws(EmbeddedPostgresError) -> (output: String, succeeded: Bool) {
    let memory = unsafe haul_memory_file("haul")
    guard memory >= 0 else { throw .failed(path, errno) }
    defer { close(memory) }
    let program = try ServerProgram(path, arguments, as: user, output: memory)
    while !program.hasEnded { try? await Task.sleep(for: .milliseconds(2)) }
    return (SmallFile.read(memory), program.ending.withLock { $0 } == 0)
  }

  private static func start(
    _ arguments: [String], _ user: ServerUser, _ output: Int32, _ pid: inout pid_t
  ) -> Int32 {
    // English, so that its words can be understood here; and nothing of libpq's environment.
    let environment = ["LC_ALL=C.UTF-8", "PATH=/usr/local/bin:/usr/bin:/bin"]
    let groups = user.isForRoot ? user.groups : []
    return unsafe CStrings.withMutable(arguments) { arguments in
      unsafe CStrings.withMutable(environment) { environment in
        unsafe groups.withUnsafeBufferPointer { groups in
          var program = unsafe haul_program(
            path: arguments[0], arguments: arguments, environment: environment, output: output,
            drops: user.isForRoot ? 1 : 0, user: user.id, group: user.group,
            groups: groups.baseAddress, group_count: groups.count)
          return unsafe haul_start(&program, &pid)
        }
      }
    }
  }
}

/// Swift strings as the array of C strings that execve(2) takes.
private enum CStrings {
  static func withMutable<R>(
    _ strings: [String], _ body: (UnsafePointer<UnsafeMutablePointer<CChar>?>) -> R
  ) -> R {
    let copies = unsafe strings.map { unsafe strdup($0) } + [nil]
    defer { unsafe copies.forEach { unsafe free($0) } }
    return unsafe copies.withUnsafeBufferPointer { copies in
      // Not empty, so there is an address.
      guard let start = copies.baseAddress else {
        preconditionFailure("no null pointer at the end")
      }
      return unsafe body(start)
    }
  }
}
