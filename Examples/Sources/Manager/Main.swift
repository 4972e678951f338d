import Dispatch
@preconcurrency import Glibc

/// A download manager that you steer from standard input:
///
///     Manager DIRECTORY
///
/// | command | what it does |
/// |---|---|
/// | `add URL` | downloads a file into the directory |
/// | `pause N` | stops download N |
/// | `resume N` | continues download N, even after a failure |
/// | `remove N` | cancels download N and forgets it; a complete file stays |
/// | `cap N` | allows N downloads at the same time |
/// | `list` | shows all downloads |
/// | `quit`, Ctrl-C | ends the program; the next start continues its downloads |
///
/// To allow private addresses, set `ALLOW` to a block of them, such as `ALLOW=192.168.0.0/16`.
@main
enum Main {
  static func main() async throws {
    // Flushes each line immediately, even in a pipe.
    setlinebuf(stdout)
    guard CommandLine.arguments.count == 2 else {
      print("usage: Manager DIRECTORY")
      exit(64)
    }
    let manager = try Manager(directory: CommandLine.arguments[1])
    let (lines, line) = AsyncStream.makeStream(of: String.self)
    let interruption = onInterrupt { line.yield("quit") }
    // Reading blocks, so it needs its own thread: do not block a thread that runs Swift's tasks.
    DispatchQueue(label: "input").async {
      while let text = readLine() { line.yield(text) }
      line.yield("quit")
    }
    for await text in lines {
      if text == "quit" { break }
      await manager.perform(text)
    }
    try await manager.shutDown()
    interruption.cancel()
  }

  /// Calls `body` when the user presses Ctrl-C, instead of ending the program. Keep the result: releasing it ends the calls.
  static func onInterrupt(_ body: @escaping @Sendable () -> Void) -> any DispatchSourceSignal {
    signal(SIGINT, SIG_IGN)
    let source = DispatchSource.makeSignalSource(signal: SIGINT)
    source.setEventHandler(handler: body)
    source.activate()
    return source
  }
}
