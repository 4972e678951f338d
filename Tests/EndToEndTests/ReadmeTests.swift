import Foundation
import Postgres
import TestSupport
import Testing

/// The README's commands as they stand there, run in order by one shell: only names of machines and directories are
/// replaced, and the worker, which would run for ever, goes to the background and gets its SIGTERM at the end.
struct ReadmeTests {
  static let readme = URL(filePath: #filePath).deletingLastPathComponent()
    .deletingLastPathComponent().deletingLastPathComponent().appending(path: "README.md")

  /// The contents of the fenced blocks of `language`, without the list's indentation.
  static func blocks(_ language: String) throws -> [String] {
    var blocks: [String] = []
    var block: [Substring]?
    for line in try String(contentsOf: readme, encoding: .utf8).split(
      separator: "\n", omittingEmptySubsequences: false)
    {
      let text = line.drop { $0 == " " }
      if text == "```\(language)" {
        block = []
      } else if text == "```", let lines = block {
        blocks.append(lines.joined(separator: "\n"))
        block = nil
      } else {
        block?.append(text)
      }
    }
    return blocks
  }

  @Test func `the commands make a pool that downloads a list`() async throws {
    let blocks = try Self.blocks("sh")
    // Building and testing is what runs this test.
    let building = try #require(blocks.first)
    #expect(building.contains("swift build") && building.contains("scripts/test"))
    let pool = blocks.dropFirst().joined(separator: "\n")
    for command in ["createdb", "migrate", "store init", "worker", "submit", "host set"] {
      #expect(pool.contains(command))
    }

    let site = Site(["/a.bin": Representation(seed: 1, length: 300_000)])
    let origin = try OriginServer(handler: site.answer)
    let directory = try TemporaryDirectory()
    try directory.write("\(origin.url("/a.bin"))\n", to: "urls.txt")
    let store = directory.path("store")
    try FileManager.default.createDirectory(atPath: store, withIntermediateDirectories: false)
    let name = "readme_\(getpid())"
    let script = pool.replacingOccurrences(of: "createdb haul", with: "createdb \(name)")
      .replacingOccurrences(of: "dbname=haul", with: "dbname=\(name)")
      .replacingOccurrences(of: "/srv/haul", with: store)
      .split(separator: "\n").map { line in
        line.hasPrefix("haul worker") ? "\(line) & worker=$!" : String(line)
      }.joined(separator: "\n")

    let server = try #require(ProcessInfo.processInfo.environment["HAUL_TEST_POSTGRES"])
    let host = try #require(server.split(separator: " ").first { $0.hasPrefix("host=") })
    let bin = try #require(ProcessInfo.processInfo.environment["HAUL_TEST_PGBIN"])
    let haul = URL(filePath: HaulProcess.path).deletingLastPathComponent().path
    let path = ProcessInfo.processInfo.environment["PATH"] ?? ""
    let shell = try ChildProcess(
      "bash",
      ["-euxc", "trap 'dropdb --force \(name)' EXIT\n\(script)\nkill $worker; wait $worker"],
      environment: [
        "PATH": "\(haul):\(bin):\(path)", "PGUSER": "postgres",
        "PGHOST": String(host.dropFirst("host=".count)),
        // The origin of this test is on the loopback interface.
        "HAUL_ALLOW_NET": "127.0.0.0/8",
      ], directory: directory.path)
    let output = try await shell.result(within: .seconds(60))
    #expect(output.exit == .code(0), "\(output.standardError.joined(separator: "\n"))")
    let file = try Data(contentsOf: URL(filePath: "\(store)/127.0.0.1_\(origin.port)/a.bin"))
    #expect(Pattern(seed: 1).firstDifference(of: Array(file), at: 0) == nil)
    #expect(file.count == 300_000)
  }

  @Test func `the queries run`() async throws {
    let queries = try Self.blocks("sql").flatMap { $0.split(separator: ";") }
    #expect(queries.count >= 3)
    try await withTestDatabase(.migrated) { database in
      let connection = try await database.connect()
      for query in queries where !query.allSatisfy(\.isWhitespace) {
        _ = try await connection.query(String(query))
      }
      await connection.close()
    }
  }
}
