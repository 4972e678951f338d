import Foundation
import Postgres
import TestSupport

/// What the examples in the program's help are run on: a pool with the names they use, files, an origin in place of
/// `https://example.org`, and directories in place of those they name.
final class ExampleScene: Sendable {
  /// SHA-256 of what the origin has.
  private static let digest = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"

  /// Where the command is run; holds the lists.
  let directory: TemporaryDirectory
  private let pool: HaulPool
  private let origin: OriginServer
  private let worker: HaulProcess

  private init(_ pool: HaulPool) async throws {
    self.pool = pool
    directory = try TemporaryDirectory()
    // Its SHA-256 is what an example may name.
    origin = try OriginServer { _, reply in
      try reply.head("HTTP/1.1 200 OK\nContent-Length: 4\nETag: \"1\"")
      try reply.body("test")
    }
    for (store, place) in [
      ("films", "srv/films"), ("scratch", "scratch"), ("archive", "srv/archive"),
    ] {
      try FileManager.default.createDirectory(
        atPath: directory.path(place), withIntermediateDirectories: true)
      try await pool.command("store", "init", store, directory.path(place))
    }
    // Waiting jobs 1 to 20 of the batch films, for a host that nobody connects to: no worker mounts their store.
    let urls = (1...20).map { "https://example.org/\($0)" }.joined(separator: "\n")
    try await pool.command(
      "submit", "-i", try directory.write(urls, to: "old.txt"), "--batch", "films", "--queue",
      "archive")
    let url = origin.url("/a.iso")
    try directory.write(url + "\n", to: "list.txt")
    try directory.write("name,link,sha256\nA,\(url),\(Self.digest)\n", to: "list.csv")
    try directory.write("<p>See <a href=\"\(url)\">the disc</a>.</p>\n", to: "page.html")
    try directory.write("https://example.org/1?signature=2\n", to: "signed.txt")
    try directory.write("test", to: "srv/films/test.iso")
    try directory.write("\(Self.digest)  test.iso\n", to: "SHA256SUMS")
    for host in ["example.org", "*.example.org"] {
      try await pool.command("host", "set", host, "--cap", "3")
    }
    try await pool.admin.execute("ALTER TABLE haul.worker ALTER COLUMN id RESTART WITH 7")
    worker = try pool.start([
      "worker", "--store", "films=\(directory.path("srv/films"))", "--allow-net", "127.0.0.0/8",
    ])
    try await worker.event("worker.started")
    // Batches that end.
    try await pool.command(
      "submit", origin.url("/b.iso"), "--queue", "films", "--batch", "monday")
    try await pool.command(
      "submit", origin.url("/b.iso"), "--queue", "films", "--batch", "tuesday", "--out", "c.iso")
  }

  static func open(_ body: (ExampleScene) async throws -> Void) async throws {
    try await HaulPool.open { pool in
      try await body(try await ExampleScene(pool))
    }
  }

  /// The line with this scene's places in it. A shell's word each, so that quotation marks around them still fit.
  func rewritten(_ line: String) -> String {
    let places = [
      ("postgresql://admin@db.example.org/haul", "service=pool"),
      ("https://example.org/", origin.url("/")), ("/srv/", directory.path("srv/")),
      ("/tmp/scratch", directory.path("scratch")), ("/usr/local/", directory.path("local/")),
      ("127.0.0.1:9464", "127.0.0.1:0"),
    ]
    return places.reduce(line) { $0.replacingOccurrences(of: $1.0, with: $1.1) }
  }

  /// What of a rewritten line would lead out of this scene: absolute paths and URLs that no entry above maps.
  func strays(in line: String) -> [String] {
    line.split { " '\"=".contains($0) }.map(String.init).filter { word in
      (word.hasPrefix("/") && !word.hasPrefix(directory.path))
        || (word.contains("://") && !word.hasPrefix(origin.url("/")))
    }
  }

  /// Runs a line in a terminal, sees a full screen, and quits.
  func look(_ line: String) async throws {
    let program = URL(filePath: HaulProcess.path).deletingLastPathComponent().path
    let screen = try await TerminalScreen.shell(
      columns: 80, rows: 24,
      environment: ["BIN": program, "HAUL_DATABASE_URL": pool.database.conninfo])
    // A login shell sets PATH itself.
    try await screen.type("PATH=\"$BIN:$PATH\"; \(line); echo \"exit $?\"", "Enter")
    try await screen.wait(for: "a screen of '\(line)'") { content in
      content.rows.first?.hasPrefix("haul top") == true && content.rows.count == 24
    }
    try await screen.type("q")
    try await screen.wait(for: "the end of '\(line)'") { content in
      content.rows.contains { $0.hasSuffix("exit 0") }
    }
  }

  /// Starts a line as a shell would.
  func start(_ line: String) throws -> ChildProcess {
    let program = URL(filePath: HaulProcess.path).deletingLastPathComponent().path
    // In a service's section the first of a key counts, in a connection string the last.
    let service = pool.database.conninfo.split(separator: " ").reversed().joined(separator: "\n")
    try directory.write("[pool]\n\(service)\n", to: "services")
    return try ChildProcess(
      "bash", ["-c", line],
      environment: [
        "PATH": "\(program):\(ProcessInfo.processInfo.environment["PATH"] ?? "")",
        "HAUL_DATABASE_URL": pool.database.conninfo, "HAUL_ALLOW_NET": "127.0.0.0/8",
        "PGSERVICEFILE": directory.path("services"), "HOME": directory.path,
        "HAUL_STATE_DIR": directory.path("state"),
      ], directory: directory.path)
  }
}
