import Foundation
import Glibc
import Postgres
import TestSupport
import Testing

@testable import EmbeddedPostgres

@Suite("What an embedded cluster refuses, and says", .timeLimit(.minutes(3)))
struct RefusalTests {
  /// What opening the cluster fails with.
  private func refusal(_ location: ClusterLocation) async -> EmbeddedPostgresError? {
    do throws(EmbeddedPostgresError) {
      try await EmbeddedCluster.open(location).close()
      return nil
    } catch {
      return error
    }
  }

  @Test func `no programs`() async throws {
    let root = try TemporaryDirectory()
    let location = ClusterLocation(
      directory: root.path("state"), runtimeDirectory: nil, programDirectories: ["/nonexistent"])
    #expect(await refusal(location) == .programsMissing)
  }

  @Test func `data of another major version`() async throws {
    let place = try TestPlace()
    let directory = try place.directory
    try directory.prepare()
    let user = directory.user
    try directory.make(directory.data, owner: user.id, group: user.group, mode: 0o700)
    try "14\n".write(toFile: directory.data + "/PG_VERSION", atomically: false, encoding: .utf8)
    let error = try #require(await refusal(place.location))
    guard case .otherMajor(data: 14, installed: _?, directory: directory.data) = error else {
      Issue.record("\(error)")
      return
    }
    #expect(error.description.contains("apt-get install postgresql-14"))
  }

  @Test func `a file in the place of the data`() async throws {
    let place = try TestPlace()
    let directory = try place.directory
    try directory.prepare()
    let user = directory.user
    try directory.make(directory.data, owner: user.id, group: user.group, mode: 0o700)
    let error = await refusal(place.location)
    #expect(
      error
        == .inputOutput(
          directory.data, reason: "the directory contains no PostgreSQL data; rename the directory")
    )
  }

  @Test(.enabled(if: getuid() == 0, "only root can give a directory away"))
  func `a directory of somebody else`() async throws {
    let place = try TestPlace()
    mkdir(place.location.directory, 0o700)
    chown(place.location.directory, 65534, 65534)
    let error = await refusal(place.location)
    #expect(error == .notOurs(place.location.directory, owner: "nobody"))
  }

  @Test(.enabled(if: getuid() == 0, "only root can give a directory away"))
  func `a directory below one of somebody else`() async throws {
    let place = try TestPlace()
    chown(place.root.path, 65534, 65534)
    let error = await refusal(place.location)
    #expect(error == .notOurs(place.root.path, owner: "nobody"))
  }

  @Test(.enabled(if: getuid() == 0, "only root can give a directory away"))
  func `a directory for the socket that somebody else made first, or a link that he put there`()
    async throws
  {
    let place = try TestPlace()
    let directory = try place.directory
    let (made, link) = (place.root.path("made"), place.root.path("link"))
    mkdir(made, 0o700)
    symlink(place.root.path, link)
    for path in [made, link] {
      lchown(path, 65534, 65534)
      #expect(throws: EmbeddedPostgresError.notOurs(path, owner: "nobody")) {
        try directory.make(path, owner: 0, group: 0, mode: 0o700)
      }
    }
  }

  @Test func `a directory that others may write in`() async throws {
    let place = try TestPlace()
    mkdir(place.location.directory, 0o700)
    chmod(place.location.directory, 0o777)
    let error = await refusal(place.location)
    #expect(
      error
        == .notPermitted(
          place.location.directory, reason: "other users may write to this directory"))
  }

  /// Another machine's server may not see the locks of this one's.
  @Test(arguments: [
    (0x6969, "NFS"), (0xff53_4d42, "CIFS"), (0xfe53_4d42, "SMB"), (0x517b, "SMB"),
    (0x00c3_6400, "Ceph"), (0x5346_414f, "AFS"), (0x6b41_4653, "AFS"), (0x7373_2f66, "Coda"),
    (0x0bd0_0bd0, "Lustre"),
  ])
  func `a directory that is on the network`(magic: UInt32, kind: String) throws {
    let place = try TestPlace()
    #expect(throws: EmbeddedPostgresError.networkFileSystem(place.location.directory, kind: kind)) {
      try place.directory.prepare { _ in magic }
    }
  }

  @Test(arguments: [0xef53, 0x5846_5342, 0x9123_683e, 0x0102_1994, 0])
  func `a local directory is not refused, and one of an unknown kind is not either`(magic: UInt32)
    throws
  {
    try TestPlace().directory.prepare { _ in magic }
  }

  @Test(.enabled("only root can mount") { await TestFileSystem.isPossible })
  func `a disk too small for the data, and one that is full when the server starts`() async throws {
    let system = try await TestFileSystem(tmpfs: 8 << 20)
    let small = ClusterLocation(directory: "\(system.path)/state")
    #expect(await refusal(small) == .diskFull(small.directory))
    #expect(try FileTree.files(below: small.directory).allSatisfy { !$0.hasPrefix("data") })

    let large = try await TestFileSystem(tmpfs: 128 << 20)
    let location = ClusterLocation(directory: "\(large.path)/state")
    let cluster = try await EmbeddedCluster.open(location)
    cluster.close()
    let directory = ClusterDirectory(location: location, user: try .current())
    try await eventually("the server to be gone") {
      ServerProcesses(directory).map { !$0.isAnyLeft } ?? true
    }
    _ = try await ChildProcess.run(
      "dd", ["if=/dev/zero", "of=\(large.path)/full", "bs=64k", "count=4096"])
    guard case .diskFull = await refusal(location) else {
      Issue.record("it is not called full")
      return
    }
  }
}
