import Dispatch
import Foundation
import Glibc

/// A program started by a test, in a process group of its own, whose output is read line by line.
///
/// It is killed when this object goes, with its process group, and by the kernel when the test process dies.
package final class ChildProcess: Sendable {
  /// How a program ended.
  package enum Exit: Sendable, Equatable {
    case code(Int32)
    case signal(Int32)
  }

  /// What it has written so far, without line ends, and whether it has ended.
  package struct Output: Sendable {
    package fileprivate(set) var standardOutput: [String] = []
    package fileprivate(set) var standardError: [String] = []
    package fileprivate(set) var exit: Exit?
    fileprivate var openStreams = 2
  }

  package let output = Watched(Output())
  package let pid: Int32
  private let program: String

  /// Starts the program, a path or a name to be found in PATH; returns when it has a process id.
  ///
  /// The environment is set besides what the test process has.
  ///
  /// - Throws: `POSIXError`. A program that cannot be found ends with code 127 instead.
  package init(
    _ program: String, _ arguments: [String] = [], environment: [String: String] = [:],
    directory: String? = nil
  ) throws {
    self.program = program
    let launch = Launch(
      arguments: [program] + arguments, environment: environment, directory: directory)
    let output = output
    // The kernel kills the child when the *thread* dies that started it, so that thread stays till the end.
    let started = Watched<Result<Int32, POSIXError>?>(nil)
    Thread.detachNewThread {
      do {
        let child = try launch.start()
        Self.readLines(of: child.standardOutput) { line in
          output.update { $0.received(line, on: \.standardOutput) }
        }
        Self.readLines(of: child.standardError) { line in
          output.update { $0.received(line, on: \.standardError) }
        }
        started.update { $0 = .success(child.pid) }
        Self.reap(child.pid, output)
      } catch {
        started.update { $0 = .failure(error as? POSIXError ?? .last) }
      }
    }
    try started.firstBlocking("the start of \(program)") { $0 != nil }
    guard let result = started.value else { throw POSIXError(.EIO) }
    pid = try result.get()
  }

  deinit {
    killGroup()
  }

  /// Sends a signal to the program alone. It is no error if it has ended.
  package func signal(_ number: Int32) {
    output.update { if $0.exit == nil { kill(pid, number) } }
  }

  /// Kills the program and whatever it started that is still in its process group.
  package func killGroup() {
    // As long as one member is left, the kernel gives the group's number to nobody else.
    kill(-pid, SIGKILL)
  }

  /// Waits until the program has ended.
  ///
  /// - Throws: ``TimedOut`` with the end of its output; `CancellationError`.
  @discardableResult
  package func exit(within limit: Duration = .seconds(30)) async throws -> Exit {
    try await first("the end of \(program)", within: limit) { $0.exit }
  }

  /// Waits until the program and all that inherited its output have ended, so that no line is missing.
  ///
  /// - Throws: ``TimedOut`` with the end of its output; `CancellationError`.
  package func result(within limit: Duration = .seconds(30)) async throws -> Output {
    try await first("the end of \(program) and its output", within: limit) {
      $0.exit != nil && $0.openStreams == 0 ? $0 : nil
    }
  }

  /// Waits on its output; a ``TimedOut`` shows the last 40 lines of standard error.
  package func first<Result: Sendable>(
    _ what: String, within limit: Duration = .seconds(30),
    where probe: @escaping @Sendable (Output) -> Result?
  ) async throws -> Result {
    do {
      return try await output.first(what, within: limit, where: probe)
    } catch let error as TimedOut {
      let output = output.value
      let state = output.exit.map { "it ended: \($0)" } ?? "it is running"
      let tail = output.standardError.suffix(40).joined(separator: "\n")
      throw TimedOut(
        what: error.what, limit: error.limit, detail: "\(state); its last lines:\n\(tail)")
    }
  }

  /// Waits without reaping first, so that ``signal(_:)`` never meets a number that was given out anew.
  private static func reap(_ pid: pid_t, _ output: Watched<Output>) {
    var info = siginfo_t()
    while waitid(P_PID, id_t(pid), &info, WEXITED | WNOWAIT) != 0 && errno == EINTR {}
    output.update { output in
      var status: Int32 = 0
      waitpid(pid, &status, 0)
      let signal = status & 0x7f
      output.exit = signal == 0 ? .code((status >> 8) & 0xff) : .signal(signal)
    }
  }

  /// Calls `receive` for each line, on a thread of its own, and with nil at the end.
  private static func readLines(of pipe: Int32, _ receive: @escaping @Sendable (String?) -> Void) {
    Thread.detachNewThread {
      var rest: [UInt8] = []
      var piece = [UInt8](repeating: 0, count: 65_536)
      while true {
        let count = read(pipe, &piece, piece.count)
        if count < 0 && errno == EINTR { continue }
        guard count > 0 else { break }
        rest += piece[..<count]
        while let end = rest.firstIndex(of: 10) {
          receive(String(decoding: rest[..<end], as: UTF8.self))
          rest.removeSubrange(...end)
        }
      }
      if !rest.isEmpty { receive(String(decoding: rest, as: UTF8.self)) }
      close(pipe)
      receive(nil)
    }
  }
}

extension ChildProcess.Output {
  /// Nil is the end of that stream.
  fileprivate mutating func received(
    _ line: String?, on stream: WritableKeyPath<Self, [String]>
  ) {
    if let line { self[keyPath: stream].append(line) } else { openStreams -= 1 }
  }
}

extension ChildProcess {
  /// Runs a program to its end.
  ///
  /// - Returns: its output; any exit code is no error.
  package static func run(
    _ program: String, _ arguments: [String] = [], environment: [String: String] = [:],
    directory: String? = nil, within limit: Duration = .seconds(60)
  ) async throws -> Output {
    let child = try ChildProcess(
      program, arguments, environment: environment, directory: directory)
    return try await child.result(within: limit)
  }
}
