import Foundation
import TestSupport
import Testing

/// `deploy/image/haul-health` with a program in Haul's place that says which workers the pool has.
struct HealthTests {
  private static let script = repositoryRoot.appending(path: "deploy/image/haul-health").path

  /// Runs the script. `workers` has the lines of `haul workers --json`; HOST stands for this machine.
  ///
  /// The program in Haul's place is bash, which then runs the file `workers` of its directory. A program that is written here
  /// could not start while another test's child still has it open.
  private func health(_ mode: String, _ workers: String, haulExits code: Int = 0) async throws
    -> ChildProcess.Exit?
  {
    let place = try TemporaryDirectory()
    try place.write(
      """
      cat <<LINES
      \(workers.replacing("HOST", with: "$(uname -n)"))
      LINES
      exit \(code)
      """, to: "workers")
    try FileManager.default.createSymbolicLink(
      atPath: place.path("haul"), withDestinationPath: "/bin/bash")
    let path = ProcessInfo.processInfo.environment["PATH"] ?? ""
    return try await ChildProcess.run(
      Self.script, [mode], environment: ["PATH": "\(place.path):\(path)"], directory: place.path
    ).exit
  }

  private static func worker(_ machine: String, _ state: String) -> String {
    #"{"worker":1,"machine":"\#(machine)","pid":7,"version":"0.1.0","state":"\#(state)","running":0}"#
  }

  @Test(arguments: [
    ([], 1, 1), ([worker("HOST", "alive")], 0, 0), ([worker("HOST", "draining")], 1, 0),
    ([worker("HOST", "silent")], 1, 1), ([worker("other", "alive")], 1, 1),
    ([worker("HOST2", "alive")], 1, 1),
    ([worker("HOST", "silent"), worker("HOST", "alive")], 0, 0),
  ])
  func `a worker is well if the pool sees it`(lines: [String], ready: Int32, live: Int32)
    async throws
  {
    let workers = lines.joined(separator: "\n")
    #expect(try await health("ready", workers) == .code(ready))
    #expect(try await health("live", workers) == .code(live))
  }

  @Test func `without the database a worker is not ready, but a restart would not help`()
    async throws
  {
    #expect(try await health("ready", "", haulExits: 69) == .code(1))
    #expect(try await health("live", "", haulExits: 69) == .code(0))
  }

  @Test func `another word is a usage error`() async throws {
    #expect(try await health("dead", "") == .code(64))
  }
}
