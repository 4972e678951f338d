import Foundation
import TestSupport
import Testing

/// The programs of the package in `Examples`, built once for all tests.
enum ExamplePrograms {
  private static let build = Task {
    let output = try await ChildProcess.run(
      "swift", ["build", "--package-path", "Examples", "--scratch-path", ".build/examples"],
      directory: repositoryRoot.path, within: .seconds(540))
    let lines = output.standardOutput + output.standardError
    try #require(output.exit == .code(0), "\(lines.joined(separator: "\n"))")
    return repositoryRoot.appending(path: ".build/examples/debug").path
  }

  /// The path of a program.
  static func path(_ name: String) async throws -> String { "\(try await build.value)/\(name)" }
}

/// A directory for the files of an example, and an origin whose files stop half-way until the test opens a gate.
struct ExamplePlace {
  static let length: Int64 = 300_000
  static let half: Int64 = 150_000

  let directory: TemporaryDirectory
  let origin: OriginServer
  /// Of `/slow…`. Every other file comes at once, and there is no file `/none…`.
  let gate = Gate("the second half")
  private let source = Representation(seed: 3, length: length)

  init() throws {
    directory = try TemporaryDirectory()
    var slow = source
    slow.gates = [Self.half: gate]
    origin = try OriginServer { [source, slow] request, reply in
      switch request.path {
      case let path where path.hasPrefix("/slow"): try slow.answer(request, reply)
      case let path where path.hasPrefix("/none"):
        try reply.head("HTTP/1.1 404 Not Found\nContent-Length: 0")
      case "/moved": try reply.head("HTTP/1.1 302 Found\nLocation: /busy\nContent-Length: 0")
      case "/busy" where request.number == 2:
        try reply.head("HTTP/1.1 503 Busy\nContent-Length: 0")
      case "/echo":
        try reply.head("HTTP/1.1 200 OK\nContent-Length: \(request.body.count)")
        try reply.body(request.body)
      default: try source.answer(request, reply)
      }
    }
  }

  /// Starts a program. With `input`, its standard input is that file.
  func start(
    _ name: String, _ arguments: [String], input: String = "/dev/null"
  ) async throws -> ChildProcess {
    try ChildProcess(
      "sh", ["-c", "exec \"$@\" <\"$INPUT\"", "sh", await ExamplePrograms.path(name)] + arguments,
      environment: ["ALLOW": "127.0.0.0/8", "INPUT": input])
  }

  /// Runs a program to its end.
  func run(_ name: String, _ arguments: [String]) async throws -> ChildProcess.Output {
    try await start(name, arguments).result()
  }

  /// What is in the directory, hidden files too, sorted.
  var names: [String] { get throws { try FileTree.files(below: directory.path) } }

  /// Checks that a file has all of its bytes and no others.
  func expectComplete(_ name: String, _ location: SourceLocation = #_sourceLocation) throws {
    let difference = try FileTree.firstDifference(
      of: directory.path(name), from: source.pattern, length: Self.length)
    #expect(difference == nil, "\(name)", sourceLocation: location)
  }

  /// The Range fields of the requests for a path, in order; `-` where there was none.
  func ranges(of path: String) -> [String] {
    origin.log.value.exchanges.map(\.request).filter { $0.path == path }
      .map { $0[field: "Range"] ?? "-" }
  }

  /// The Range of a request that continues at the half: the bytes before it are compared again.
  static let rest = "bytes=\(half - 4096)-\(length - 1)"
}

extension ChildProcess {
  /// Waits for a line of standard output that begins so, and returns it. The `count`th of them, counted from 1.
  @discardableResult
  func line(_ start: String, _ count: Int = 1) async throws -> String {
    try await first("line \(count) that begins with '\(start)'") { output in
      output.standardOutput.filter { $0.hasPrefix(start) }.dropFirst(count - 1).first
    }
  }
}
