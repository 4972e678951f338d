import Foundation
import Glibc
import Postgres
import TestSupport
import Testing

@testable import EmbeddedPostgres

@Suite("How a cluster is made", .timeLimit(.minutes(3)))
struct MakingTests {
  @Test func `what a killed initdb left is removed, and nothing that it points to`() async throws {
    let place = try TestPlace()
    let directory = try place.directory
    try directory.prepare()
    let user = directory.user
    try directory.make(directory.newData, owner: user.id, group: user.group, mode: 0o700)
    let outside = try place.root.write("precious", to: "outside/file")
    try FileManager.default.createSymbolicLink(
      atPath: directory.newData + "/link", withDestinationPath: place.root.path("outside"))
    try place.root.write("", to: "state/data.new/base/1/PG_VERSION")
    for name in ["link", "base", "base/1", "base/1/PG_VERSION"] {
      lchown(directory.newData + "/" + name, user.id, user.group)
    }
    let cluster = try await place.open()
    #expect(ClusterDirectory.status(directory.newData) == nil)
    #expect(try String(contentsOfFile: outside, encoding: .utf8) == "precious")
    cluster.close()
    try await place.untilStopped()
  }

  @Test func `who makes it may be killed in the middle`() async throws {
    let place = try TestPlace()
    let directory = try place.directory
    let programs = try await place.stuckPrograms()
    let maker = try await place.startUser(programs: programs)
    try await eventually("initdb to have begun") {
      ClusterDirectory.status(directory.newData + "/global") != nil
    }
    maker.signal(SIGKILL)
    try await maker.exit()
    #expect(ClusterDirectory.status(directory.data) == nil)

    let opening = Task { try await place.open() }
    try await place.steps.first("a wait for the initdb that is left") { steps in
      steps.contains(.waiting) ? () : nil
    }
    try place.release(programs)
    let cluster = try await opening.value
    #expect(place.steps.value == [.waiting, .creating, .starting])
    #expect(ClusterDirectory.status(directory.newData) == nil)
    try await cluster.ensureDatabase("haul")
    cluster.close()
    try await place.untilStopped()
  }

  @Test func `the wait for it can be cancelled`() async throws {
    let place = try TestPlace()
    let directory = try place.directory
    let stuck = ClusterLocation(
      directory: place.location.directory, runtimeDirectory: nil,
      programDirectories: [try await place.stuckPrograms()])
    let task = Task { try await EmbeddedCluster.open(stuck) }
    try await eventually("initdb to have begun") {
      ClusterDirectory.status(directory.newData + "/global") != nil
    }
    task.cancel()
    await #expect(throws: EmbeddedPostgresError.cancelled) { try await task.value }
    #expect(ClusterDirectory.status(directory.data) == nil)
  }

  @Test func `programs outside of a package are asked for their version`() async throws {
    let root = try TemporaryDirectory()
    try await root.install("echo 'postgres (PostgreSQL) 17.2'", as: "bin/postgres")
    try await root.install("", as: "bin/initdb")
    symlink(root.path("bin"), root.path("link"))
    let location = ClusterLocation(
      directory: root.path("state"), runtimeDirectory: nil,
      programDirectories: [root.path("link"), root.path("bin"), root.path("none")])
    let found = try await ServerInstallation.all(in: location, for: .current())
    #expect(found == [ServerInstallation(directory: root.path("bin"), major: 17)])
  }

  @Test func `a path too long for a socket gets a shorter one`() async throws {
    let root = try TemporaryDirectory()
    let runtime = root.path("run")
    mkdir(runtime, 0o700)
    let location = ClusterLocation(
      directory: root.path(String(repeating: "long/", count: 20) + "state"),
      runtimeDirectory: runtime,
      programDirectories: ClusterLocation(directory: "/").programDirectories)
    let cluster = try await EmbeddedCluster.open(location)
    let directory = ClusterDirectory(location: location, user: try .current())
    let socket = directory.socketPlace.directory
    #expect(!socket.hasPrefix(location.directory))
    #expect(cluster.conninfo(database: "postgres").contains("host='\(socket)'"))
    try await cluster.ensureDatabase("haul")
    cluster.close()
    try await eventually("the server to be gone") {
      ServerProcesses(directory).map { !$0.isAnyLeft } ?? true
    }
    rmdir(socket)
  }

  @Test(.enabled(if: getuid() == 0, "only root can become another"))
  func `a plain user has one as well, and two of its processes share it`() async throws {
    let place = try TestPlace()
    mkdir(place.location.directory, 0o700)
    chown(place.location.directory, 65534, 65534)
    let one = try await place.startUser(as: "nobody")
    let other = try await place.startUser(as: "nobody")
    let conninfo = try await one.ready()
    #expect(conninfo.contains("requirepeer='nobody'"))
    #expect(try await other.ready() == conninfo)
    #expect(try await one.letGo() == .code(0))
    #expect(other.output.value.exit == nil)
    #expect(try await other.letGo() == .code(0))
    let data = place.location.directory + "/data/postmaster.pid"
    try await eventually("the server to be gone") { ClusterDirectory.status(data) == nil }
  }
}
