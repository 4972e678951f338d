import Foundation
import Glibc
package import Postgres

/// Where a test runs `haul get`: an embedded cluster of its own, and a directory that files go to and that is not there
/// yet.
///
/// The cluster is a copy of one that is made for all tests of the time, with its databases. It is killed when this object goes.
/// Copies are large for a disk: suites that use them are serialized, so that few are made at once.
package final class GetPlace: Sendable {
  /// What files go to, unless the test says otherwise.
  package let directory: String
  /// `HAUL_STATE_DIR`
  package let state: String
  private let keeper: TemporaryDirectory
  /// Lives as long as one that was copied from it.
  private let template: GetPlace?

  package convenience init() async throws {
    try await self.init(copying: Template.shared.place())
  }

  private init(copying template: GetPlace?) async throws {
    self.template = template
    keeper = try TemporaryDirectory()
    directory = keeper.path("files")
    state = keeper.path("state")
    if let template {
      try await command("cp", "--archive", "--sparse=always", template.state, state)
    }
  }

  deinit {
    if let pid = Self.server(in: state) { kill(pid, SIGKILL) }
  }

  /// Starts `haul get` with these arguments, in ``directory``'s parent; files go to ``directory``.
  package func start(_ arguments: String..., log level: String = "error") throws -> HaulProcess {
    try start(arguments, log: level)
  }

  package func start(
    _ arguments: [String], to directory: String? = nil, log level: String = "error"
  ) throws -> HaulProcess {
    try HaulProcess(
      ["get", "-d", directory ?? self.directory] + arguments,
      environment: [
        "HAUL_STATE_DIR": state, "HAUL_LOG_FORMAT": "json", "HAUL_LOG_LEVEL": level,
      ], directory: keeper.path)
  }

  /// Runs `haul get` to its end; any exit code is no error.
  package func get(
    _ arguments: String..., to directory: String? = nil
  ) async throws -> ChildProcess.Output {
    try await get(arguments, to: directory)
  }

  package func get(
    _ arguments: [String], to directory: String? = nil, within limit: Duration = .seconds(120)
  ) async throws -> ChildProcess.Output {
    try await start(arguments, to: directory).child.result(within: limit)
  }

  /// Types `haul get` with this URL, files going to ``directory``, and `echo "exit $?"` into a shell of its own.
  package func terminal(columns: Int, _ url: String) async throws -> TerminalScreen {
    let screen = try await TerminalScreen.shell(
      columns: columns, rows: 24, environment: ["HAUL_STATE_DIR": state, "HAUL": HaulProcess.path])
    try await screen.type("$HAUL get --dir \(directory) \(url); echo \"exit $?\"", "Enter")
    return screen
  }

  /// Writes a list beside ``directory`` and returns its path.
  package func list(_ urls: [String], _ name: String = "list.txt") throws -> String {
    try keeper.write(urls.map { $0 + "\n" }.joined(), to: name)
  }

  /// The absolute path of something beside ``directory``.
  package func path(_ name: String) -> String { keeper.path(name) }

  /// Relative paths of all files in ``directory``, Haul's own too.
  package func files() throws -> [String] {
    FileManager.default.fileExists(atPath: directory) ? try FileTree.files(below: directory) : []
  }

  /// The process of the cluster's server, if it runs.
  package var server: Int32? { Self.server(in: state) }

  /// Waits until the server has ended in order.
  package func serverGone() async throws {
    try await eventually("the end of the database server") {
      !FileManager.default.fileExists(atPath: state + "/data/postmaster.pid")
    }
  }

  /// A session in the database of `haul get`, whose server must run.
  package func database() async throws -> Connection {
    try await Connection.connect(
      ConnectionConfiguration(
        conninfo: "host='\(state)/socket' user=haul dbname=get", applicationName: "haul-tests"))
  }

  private static func server(in state: String) -> Int32? {
    let file = try? String(contentsOfFile: state + "/data/postmaster.pid", encoding: .utf8)
    guard let pid = file?.split(separator: "\n").first.flatMap({ Int32($0) }), pid > 1,
      kill(pid, 0) == 0
    else { return nil }
    return pid
  }

  /// The cluster that all others are copied from, at rest; made when one is wanted and there is none.
  private actor Template {
    static let shared = Template()

    private weak var made: GetPlace?
    private var making: Task<GetPlace, any Error>?

    func place() async throws -> GetPlace {
      if let made { return made }
      let task = making ?? Task { try await Self.make() }
      making = task
      defer { making = nil }
      let place = try await task.value
      made = place
      return place
    }

    private static func make() async throws -> GetPlace {
      let place = try await GetPlace(copying: nil)
      let origin = try OriginServer { request, reply in
        try Representation(seed: 1, length: 1).answer(request, reply)
      }
      let output = try await place.get([origin.url("/a")])
      guard output.exit == .code(0) else { throw HaulFailed(arguments: ["get"], output: output) }
      try await place.serverGone()
      return place
    }
  }
}
