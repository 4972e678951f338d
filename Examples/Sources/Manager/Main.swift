import Dispatch
@preconcurrency import Glibc

/// A download manager that you steer from standard input:
///
///     Manager DIRECTORY
///
/// | command | what it does |
/// |---|---|
/// | `add URL` | downloads a file into the directory |
/// | `pause N`, `resume N` | stops download N, and continues it; a download that failed begins again |
/// | `remove N` | cancels download N and forgets it; a complete file stays |
/// | `cap N` | changes how many downloads run at a time |
/// | `list` | shows all downloads |
/// | `quit`, Ctrl-C | ends the program, which continues its downloads at the next start |
///
/// To allow private addresses, set `ALLOW` to a block of them, such as `ALLOW=192.168.0.0/16`.
@main
enum Main {
  static func main() async throws {
    // Shows each line at once, also in a pipe.
    setlinebuf(stdout)
    guard CommandLine.arguments.count == 2 else {
      print("usage: Manager DIRECTORY")
      exit(64)
    }
    let manager = try Manager(directory: CommandLine.arguments[1])
    let (lines, line) = AsyncStream.makeStream(of: String.self)
    let interruption = onInterrupt { line.yield("quit") }
    // Reading blocks, so it gets a thread of its own instead of one of Swift's.
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

  /// Calls `body` when the user presses Ctrl-C, which then no longer ends the program. Keep the result.
  static func onInterrupt(_ body: @escaping @Sendable () -> Void) -> any DispatchSourceSignal {
    signal(SIGINT, SIG_IGN)
    let source = DispatchSource.makeSignalSource(signal: SIGINT)
    source.setEventHandler(handler: body)
    source.activate()
    return source
  }
}
