import Foundation
import Glibc
import TestSupport

@testable import EmbeddedPostgres

/// A place for a cluster of a test's own; whatever runs there ends with this object.
final class TestPlace: Sendable {
  /// The cluster's directory is one below, and not there at first.
  let root: TemporaryDirectory
  let location: ClusterLocation
  /// What `open` has said.
  let steps = Watched<[EmbeddedCluster.Step]>([])

  init() throws {
    root = try TemporaryDirectory()
    location = ClusterLocation(directory: root.path("state"))
  }

  deinit {
    if let server { for signal in [SIGQUIT, SIGCONT] { kill(server.pid, signal) } }
  }

  var directory: ClusterDirectory {
    get throws { ClusterDirectory(location: location, user: try .current()) }
  }

  /// The server, if one runs, whatever it is about.
  var server: PostmasterFile? {
    guard let directory = try? directory, let state = try? ServerState.of(directory, note: "")
    else { return nil }
    return switch state {
    case .none: nil
    case .starting(let server), .ready(let server), .stopping(let server): server
    }
  }

  func open() async throws -> EmbeddedCluster {
    try await EmbeddedCluster.open(location) { [steps] step in steps.update { $0.append(step) } }
  }

  func untilStopped() async throws {
    try await eventually("the server to be gone") {
      try ServerProcesses(directory).map { !$0.isAnyLeft } ?? true
    }
  }

  /// A directory of programs newer than all others, whose initdb begins and then waits for ``release(_:)``.
  func stuckPrograms() async throws -> String {
    let directory = root.path("stuck")
    try await root.install("echo 'postgres (PostgreSQL) 99.0'", as: "stuck/postgres")
    try await root.install("mkdir $2/global; read line <\(directory)/go", as: "stuck/initdb")
    mkfifo(directory + "/go", 0o644)
    return directory
  }

  /// The program that uses this cluster, where it sees no process of this one's: in another container, as it were.
  func startUserElsewhere() throws -> ChildProcess {
    let program =
      URL(fileURLWithPath: HaulProcess.path).deletingLastPathComponent().path + "/ClusterUser"
    return try ChildProcess(
      "unshare", ["--pid", "--fork", "--mount-proc", program],
      environment: ["HAUL_STATE_DIR": location.directory])
  }

  /// Lets the initdb of such a directory end.
  func release(_ programs: String) throws {
    try "go\n".write(toFile: programs + "/go", atomically: false, encoding: .utf8)
  }

  /// The program that uses this cluster, started; as `user` from a copy that everybody may run.
  func startUser(
    as user: String? = nil, programs: String? = nil
  ) async throws -> ChildProcess {
    let program =
      URL(fileURLWithPath: HaulProcess.path).deletingLastPathComponent().path
      + "/ClusterUser"
    var environment = ["HAUL_STATE_DIR": location.directory]
    if let programs { environment["PATH"] = "\(programs):/usr/bin:/bin" }
    guard let user else { return try ChildProcess(program, environment: environment) }
    let copy = root.path("ClusterUser")
    if access(copy, X_OK) != 0 {
      _ = try await ChildProcess.run("install", ["-m", "755", program, copy])
    }
    return try ChildProcess(
      "setpriv",
      ["--reuid", user, "--regid", "nogroup", "--clear-groups", "--pdeathsig", "keep", copy],
      environment: environment)
  }
}

extension TemporaryDirectory {
  /// Makes a shell script that anybody may run.
  ///
  /// Another process writes it: while this one has it open, a child that is being started has it too, and it cannot be run.
  func install(_ script: String, as name: String) async throws {
    let source = try write("#!/bin/sh\n\(script)\n", to: name + ".source")
    _ = try await ChildProcess.run("install", ["-m", "755", source, path(name)])
  }
}

extension ChildProcess {
  /// The conninfo that a `ClusterUser` says when it is there.
  func ready() async throws -> String {
    try await first("a user of the cluster", within: .seconds(120)) { output in
      output.standardOutput.compactMap { line in
        line.hasPrefix("ready ") ? String(line.dropFirst(6)) : nil
      }.first
    }
  }

  /// Lets go, and ends.
  func letGo() async throws -> Exit {
    signal(SIGTERM)
    return try await exit()
  }
}
