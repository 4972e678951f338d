internal import Glibc
internal import HaulSystem

/// The pager program in which a user reads long lists.
package struct Pager: Sendable {
  private static let usual = "less -FRX"
  /// The exit code of sh(1) for a command that does not exist.
  private static let notFound: Int32 = 127

  private let command: String
  private let environment: [String: String]

  /// Chooses the pager program: the value of HAUL_PAGER, otherwise the value of PAGER, otherwise `less`. Returns nil if the
  /// chosen value is empty or `cat`. `environment` is the environment of the process.
  package init?(environment: [String: String]) {
    let command = environment["HAUL_PAGER"] ?? environment["PAGER"] ?? Self.usual
    if command.allSatisfy(\.isWhitespace) || command == "cat" { return nil }
    self.command = command
    // For less: show colours, and do not page text that fits on the screen.
    self.environment = environment.merging(["LESS": "FRX"]) { own, _ in own }
  }

  /// Shows `text` in the pager, and returns when the user has left the pager. Until then, the call blocks the calling thread.
  /// `text` must be safe for a terminal. Returns false, and shows nothing, if the program does not exist.
  package func show(_ text: String) -> Bool {
    var ends: [Int32] = [-1, -1]
    guard unsafe pipe(&ends) == 0 else { return false }
    let pid = start(reading: ends[0], beside: ends[1])
    close(ends[0])
    guard let pid else {
      close(ends[1])
      return false
    }
    return StopSignals.lendingTerminal {
      // A user who quits the pager early closes the pipe.
      let before = signal(SIGPIPE, SIG_IGN)
      defer { _ = signal(SIGPIPE, before) }
      Self.write(Array(text.utf8), to: ends[1])
      close(ends[1])
      var status: Int32 = 0
      while unsafe waitpid(pid, &status, 0) < 0 && errno == EINTR {}
      return status != Self.notFound << 8
    }
  }

  private static func write(_ bytes: [UInt8], to pipe: Int32) {
    var rest = bytes[...]
    while !rest.isEmpty {
      let count = unsafe rest.withUnsafeBytes { unsafe Glibc.write(pipe, $0.baseAddress, $0.count) }
      if count < 0 && errno == EINTR { continue }
      guard count > 0 else { return }
      rest = rest.dropFirst(count)
    }
  }

  /// Starts the pager on this process's terminal, with all signals unblocked. Returns nil if it cannot be started.
  private func start(reading input: Int32, beside output: Int32) -> pid_t? {
    var actions = unsafe posix_spawn_file_actions_t()
    var attributes = posix_spawnattr_t()
    var none = sigset_t()
    unsafe posix_spawn_file_actions_init(&actions)
    unsafe posix_spawnattr_init(&attributes)
    defer {
      unsafe posix_spawn_file_actions_destroy(&actions)
      unsafe posix_spawnattr_destroy(&attributes)
    }
    unsafe sigemptyset(&none)
    unsafe posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO)
    unsafe posix_spawn_file_actions_addclose(&actions, input)
    // Otherwise the pager itself would keep the pipe open, and its input would never end.
    unsafe posix_spawn_file_actions_addclose(&actions, output)
    unsafe posix_spawnattr_setsigmask(&attributes, &none)
    unsafe posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK))
    var pid: pid_t = 0
    let code = unsafe CStrings.withMutable(["/bin/sh", "-c", command]) { arguments in
      unsafe CStrings.withMutable(environment.map { "\($0)=\($1)" }) { environment in
        unsafe posix_spawn(&pid, "/bin/sh", &actions, &attributes, arguments, environment)
      }
    }
    return code == 0 ? pid : nil
  }
}
