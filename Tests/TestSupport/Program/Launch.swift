import Foundation
import Glibc

/// What `posix_spawn` needs to start a program.
struct Launch: Sendable {
  /// The first is the program.
  let arguments: [String]
  let environment: [String: String]
  let directory: String?

  struct Child {
    let pid: pid_t
    /// Read ends, the caller's to close.
    let standardOutput: Int32
    let standardError: Int32
  }

  /// Starts it in a process group of its own, to be killed when the calling thread dies.
  func start() throws -> Child {
    let (outputEnd, outputStart) = try makePipe()
    let (errorEnd, errorStart) = try makePipe()
    defer {
      close(outputStart)
      close(errorStart)
    }
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
    posix_spawn_file_actions_adddup2(&actions, outputStart, 1)
    posix_spawn_file_actions_adddup2(&actions, errorStart, 2)
    var attributes = posix_spawnattr_t()
    posix_spawnattr_init(&attributes)
    defer { posix_spawnattr_destroy(&attributes) }
    // A signal that the test process ignores or blocks must reach the program all the same.
    var signals = sigset_t()
    sigemptyset(&signals)
    posix_spawnattr_setsigmask(&attributes, &signals)
    sigfillset(&signals)
    posix_spawnattr_setsigdefault(&attributes, &signals)
    posix_spawnattr_setpgroup(&attributes, 0)
    posix_spawnattr_setflags(
      &attributes, Int16(POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF))

    var pid: pid_t = 0
    let code = withCStrings(command) { arguments in
      withCStrings(mergedEnvironment) { environment in
        posix_spawnp(&pid, "env", &actions, &attributes, arguments, environment)
      }
    }
    guard code == 0 else {
      close(outputEnd)
      close(errorEnd)
      throw POSIXError(POSIXErrorCode(rawValue: code) ?? .EIO)
    }
    return Child(pid: pid, standardOutput: outputEnd, standardError: errorEnd)
  }

  /// Two small programs that set something and then become the next.
  private var command: [String] {
    ["env"] + (directory.map { ["--chdir", $0] } ?? [])
      + ["setpriv", "--pdeathsig", "KILL", "--"] + arguments
  }

  private var mergedEnvironment: [String] {
    ProcessInfo.processInfo.environment.merging(environment) { $1 }.map { "\($0)=\($1)" }
  }

  /// Both ends close on exec; the copies at 1 and 2 do not.
  private func makePipe() throws -> (end: Int32, start: Int32) {
    var ends: [Int32] = [0, 0]
    guard pipe(&ends) == 0 else { throw POSIXError.last }
    for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    return (ends[0], ends[1])
  }

  private func withCStrings<Result>(
    _ strings: [String], _ body: ([UnsafeMutablePointer<CChar>?]) -> Result
  ) -> Result {
    let copies = strings.map { strdup($0) }
    defer { copies.forEach { free($0) } }
    return body(copies + [nil])
  }
}
