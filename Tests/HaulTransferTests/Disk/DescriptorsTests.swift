import Glibc
import TestSupport
import Testing

/// A process that has hardly a file to open left: that is nobody's fault but its own, and passes.
@Suite(.timeLimit(.minutes(5)))
struct DescriptorsTests {
  private static let most = 12
  private let directory: TemporaryDirectory

  init() throws {
    directory = try TemporaryDirectory()
  }

  /// How downloads end with 0, 1, … descriptors to spare, and with enough of them after that.
  ///
  /// libdispatch, on which Swift's tasks run, ends a process that has no file to open in the moment when it looks at its
  /// threads (`/proc/self/task`). Whether it looks is chance: then the same once more, in a directory without the files
  /// of the try before.
  private func starve(_ url: String, _ more: [String] = []) async throws -> [[Substring]] {
    var output: ChildProcess.Output
    var tries = 0
    repeat {
      let tried = "\(directory.path)/\(tries)"
      #expect(mkdir(tried, 0o700) == 0)
      output = try await ChildProcess.run(
        "sh",
        ["-c", "ulimit -n 64; exec \"$0\" \"$@\"", LibraryUserTests.program, "starve", url]
          + [tried, String(Self.most)] + more)
      tries += 1
    } while output.exit == .signal(SIGILL) && tries < 5
    #expect(output.exit == .code(0), "\(output.standardError)")
    return output.standardOutput.map { $0.split(separator: " ") }
  }

  private func expect(_ lines: [[Substring]]) throws {
    #expect(lines.map { $0.first } == (0...Self.most).map { Substring(String($0)) })
    #expect(lines.allSatisfy { ["open_files", "complete"].contains($0[1]) }, "\(lines)")
    #expect(lines.first?[1] == "open_files" && lines.last?[1] == "complete")
    #expect(lines.allSatisfy { $0[2] == "complete" }, "\(lines)")
  }

  @Test(arguments: ["127.0.0.1", "localhost"])
  func `without one for a resolver, a socket or a file the host is not blamed`(
    _ name: String
  ) async throws {
    let origin = try OriginServer { _, reply in try reply.answer("Content-Length: 2", "ab") }
    let port = origin.host.split(separator: ":").last ?? ""
    try expect(try await starve("http://\(name):\(port)/"))
  }

  @Test func `without one for the authorities' certificates TLS is not blamed`() async throws {
    let origin = try await TLSOrigin(files: ["a": [1, 2]])
    try expect(try await starve(origin.url("/a"), [origin.caFile, String(origin.port)]))
  }
}
