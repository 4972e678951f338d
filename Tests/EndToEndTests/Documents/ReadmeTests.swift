import Foundation
import Postgres
import TestSupport
import Testing

/// The README's commands as they stand there, run in order by one shell: only names of machines and directories are
/// replaced, and the worker, which would run for ever, goes to the background and gets its SIGTERM at the end.
struct ReadmeTests {
  static let readme = repositoryRoot.appending(path: "README.md")

  /// The contents of the fenced blocks of `language`, without the list's indentation.
  static func blocks(_ language: String, of page: URL = readme) throws -> [String] {
    var blocks: [String] = []
    var block: [Substring]?
    for line in try String(contentsOf: page, encoding: .utf8).split(
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

  /// An origin with one file, and a list of it in a directory.
  private func scene() throws -> (origin: OriginServer, directory: TemporaryDirectory) {
    let site = Site(["/a.iso": Representation(seed: 1, length: 300_000)])
    let origin = try OriginServer(handler: site.answer)
    let directory = try TemporaryDirectory()
    try directory.write("\(origin.url("/a.iso"))\n", to: "urls.txt")
    return (origin, directory)
  }

  private func check(_ path: String) throws {
    let file = try Data(contentsOf: URL(filePath: path))
    #expect(Pattern(seed: 1).firstDifference(of: Array(file), at: 0) == nil)
    #expect(file.count == 300_000)
  }

  private static let programs = URL(filePath: HaulProcess.path).deletingLastPathComponent().path

  /// Runs the lines in one shell. What runs on goes to the background; `stop` ends it.
  private func run(
    _ lines: [String], stop: String, _ environment: [String: String], in directory: String
  ) async throws {
    let path = ProcessInfo.processInfo.environment["PATH"] ?? ""
    let shell = try ChildProcess(
      "bash", ["-euxc", (lines + [stop]).joined(separator: "\n")],
      environment: environment.merging(
        // The origin of this test is on the loopback interface.
        ["PATH": "\(Self.programs):\(path)", "HAUL_ALLOW_NET": "127.0.0.0/8"],
        uniquingKeysWith: { $1 + ":" + $0 }), directory: directory)
    let output = try await shell.result(within: .seconds(60))
    #expect(output.exit == .code(0), "\(output.standardError.joined(separator: "\n"))")
  }

  @Test func `the first command is the one that builds`() throws {
    let block = try #require(try Self.blocks("sh").first)
    let scripts = block.split(separator: "\n").map { $0.prefix { $0 != " " } }
    #expect(scripts == ["scripts/quickstart"])
  }

  @Test func `the commands without set-up download a list`() async throws {
    let block = try Self.blocks("sh")[1]
    for command in ["haul get http", "haul get -i", "haul up", "haul submit -i", "haul worker"] {
      #expect(block.contains(command))
    }
    let (origin, directory) = try scene()
    // A worker on another machine belongs to the pool of the next test.
    let lines = block.replacingOccurrences(of: "https://example.org/", with: origin.url("/"))
      .split(separator: "\n").filter { !$0.hasPrefix("haul worker") }.map { line in
        line.hasPrefix("haul up")
          ? "haul up & up=$!; until haul queues --json | grep default; do kill -0 $up; done"
          : String(line)
      }
    try await run(
      lines, stop: "kill $up; wait $up", ["HAUL_STATE_DIR": directory.path("state")],
      in: directory.path)
    for path in ["a.iso", "mirror/a.iso", "downloads/127.0.0.1_\(origin.port)/a.iso"] {
      try check(directory.path(path))
    }
  }

  @Test func `the commands for several machines make a pool that downloads a list`() async throws {
    let block = try Self.blocks("sh").dropFirst(2).joined(separator: "\n")
    for command in ["createdb", "migrate", "store init", "worker", "submit"] {
      #expect(block.contains(command))
    }
    let (origin, directory) = try scene()
    let store = directory.path("store")
    try FileManager.default.createDirectory(atPath: store, withIntermediateDirectories: false)
    let name = "readme_\(getpid())"
    let lines = block.replacingOccurrences(of: "createdb haul", with: "createdb \(name)")
      .replacingOccurrences(
        of: "host=db.example.org dbname=haul user=alice", with: "dbname=\(name)"
      )
      .replacingOccurrences(of: "--database dbname=haul", with: "--database dbname=\(name)")
      .replacingOccurrences(of: "/srv/haul", with: store)
      // Other tests have pools on this server.
      .replacingOccurrences(of: "haul migrate", with: "haul migrate --share-roles")
      .split(separator: "\n").map { line in
        line.hasPrefix("haul worker")
          ? "\(line.prefix { $0 != "#" }) & worker=$!" : String(line)
      }
    let server = try #require(ProcessInfo.processInfo.environment["HAUL_TEST_POSTGRES"])
    let host = try #require(server.split(separator: " ").first { $0.hasPrefix("host=") })
    let bin = try #require(ProcessInfo.processInfo.environment["HAUL_TEST_PGBIN"])
    try await run(
      ["trap 'dropdb --force \(name)' EXIT"] + lines, stop: "kill $worker; wait $worker",
      ["PATH": bin, "PGUSER": "postgres", "PGHOST": String(host.dropFirst("host=".count))],
      in: directory.path)
    try check("\(store)/127.0.0.1_\(origin.port)/a.iso")
  }

  @Test func `it is short, and its lines are too`() throws {
    let text = try String(contentsOf: Self.readme, encoding: .utf8)
    #expect(text.split(whereSeparator: \.isWhitespace).count < 900)
    #expect(text.split(separator: "\n").filter { $0.count > 100 } == [])
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
