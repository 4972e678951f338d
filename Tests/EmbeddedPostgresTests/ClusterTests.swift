import Foundation
import Glibc
import HaulSystem
import Postgres
import TestSupport
import Testing

@testable import EmbeddedPostgres

/// The answer of a database to a question of one value.
private func ask(_ conninfo: String, _ question: String) async throws -> String {
  let connection = try await Connection.connect(
    ConnectionConfiguration(conninfo: conninfo, applicationName: "tests"))
  let rows = try await connection.query(question)
  let answer = try rows[0].decode("answer", as: String.self)
  await connection.close()
  return answer
}

@Suite("A cluster's life", .timeLimit(.minutes(3)))
struct ClusterTests {
  @Test func `the first makes it, the second shares it, the last stops it`() async throws {
    let place = try TestPlace()
    let first = try await place.open()
    #expect(place.steps.value == [.creating, .starting])
    try await first.ensureDatabase("haul")
    try await first.ensureDatabase("haul")
    let conninfo = first.conninfo(database: "haul")
    #expect(EmbeddedCluster.running(place.location, database: "haul") == conninfo)
    #expect(try await ask(conninfo, "SELECT current_user AS answer") == "haul")
    #expect(try await ask(conninfo, "SELECT current_setting('listen_addresses') AS answer") == "")

    let second = try await place.open()
    #expect(place.steps.value == [.creating, .starting])
    #expect(second.conninfo(database: "haul") == conninfo)
    first.close()
    first.close()
    #expect(try await ask(conninfo, "SELECT current_database() AS answer") == "haul")
    second.close()
    try await place.untilStopped()
    #expect(EmbeddedCluster.running(place.location, database: "haul") == nil)
  }

  @Test func `two who come at once share one server`() async throws {
    let place = try TestPlace()
    async let one = place.open()
    async let other = place.open()
    let clusters = [try await one, try await other]
    let strings = clusters.map { $0.conninfo(database: "postgres") }
    #expect(strings[0] == strings[1])
    #expect(place.steps.value.filter { $0 == .creating }.count == 1)
    #expect(place.steps.value.filter { $0 == .starting }.count == 1)
    async let made: Void = clusters[0].ensureDatabase("haul")
    async let madeToo: Void = clusters[1].ensureDatabase("haul")
    _ = try await (made, madeToo)
    clusters.forEach { $0.close() }
    try await place.untilStopped()
  }

  /// Both would have written to the same data, and the next start would have found no checkpoint.
  @Test(.enabled(if: geteuid() == 0, "namespaces take root"))
  func `no second server starts on data that a server has whose processes cannot be seen`()
    async throws
  {
    let place = try TestPlace()
    let first = try await place.open()
    let server = try #require(place.server)
    let other = try place.startUserElsewhere()
    let refusal = try await other.first("a refusal", within: .seconds(60)) { output in
      output.standardOutput.first { $0.hasPrefix("error ") || $0.hasPrefix("ready ") }
    }
    #expect(refusal.hasPrefix("error another container or machine runs the database"), "\(refusal)")
    #expect(place.server == server)
    #expect(
      try await ask(first.conninfo(database: "postgres"), "SELECT 'here' AS answer") == "here")
    first.close()
    try await place.untilStopped()
    // Nobody has it any more: the next one starts it.
    let third = try place.startUserElsewhere()
    _ = try await third.ready()
    third.signal(SIGKILL)
  }

  @Test func `who comes while the server stops has it start anew`() async throws {
    let place = try TestPlace()
    let first = try await place.open()
    let old = try #require(place.server)
    // A session in a long statement, so that there is something to end.
    let connection = try await Connection.connect(
      ConnectionConfiguration(
        conninfo: first.conninfo(database: "postgres"), applicationName: "tests"))
    // Stopped by the kernel, the server cannot even hear that it shall end.
    kill(old.pid, SIGSTOP)
    first.close()
    #expect(EmbeddedCluster.running(place.location, database: "postgres") == nil)
    async let second = place.open()
    _ = try await place.steps.first("the wait for its end") { $0.last == .waiting ? () : nil }
    kill(old.pid, SIGCONT)
    let cluster = try await second
    #expect(try #require(place.server).pid != old.pid)
    let conninfo = cluster.conninfo(database: "postgres")
    #expect(try await ask(conninfo, "SELECT current_user AS answer") == "haul")
    await connection.close()
    cluster.close()
    try await place.untilStopped()
  }

  @Test func `a server without users is taken over, and stopped by its last user`() async throws {
    let place = try TestPlace()
    let owner = try await place.startUser()
    let conninfo = try await owner.ready()
    let server = try #require(place.server)
    owner.signal(SIGKILL)
    try await owner.exit()

    let cluster = try await place.open()
    #expect(place.steps.value == [])
    #expect(place.server == server)
    #expect(cluster.conninfo(database: "haul") == conninfo)
    cluster.close()
    try await place.untilStopped()
  }

  /// One of its processes outlives it, and holds the memory that the next one needs.
  @Test func `after a kill of the postmaster the next starts a server that recovers`() async throws
  {
    let place = try TestPlace()
    let first = try await place.open()
    try await first.ensureDatabase("haul")
    let conninfo = first.conninfo(database: "haul")
    let busy = try await Connection.connect(
      ConnectionConfiguration(conninfo: conninfo, applicationName: "tests"))
    try await busy.execute("CREATE TABLE kept AS SELECT 'kept' AS answer")
    let old = try #require(place.server)
    let pid: Int64 = try #require(
      try await busy.query("SELECT pg_backend_pid()::bigint AS pid").first?.decode("pid"))
    kill(pid_t(pid), SIGSTOP)
    defer { kill(pid_t(pid), SIGCONT) }
    kill(old.pid, SIGKILL)

    async let next = place.open()
    _ = try await place.steps.first("the wait for its end") { $0.last == .waiting ? () : nil }
    kill(pid_t(pid), SIGCONT)
    let second = try await next
    #expect(try #require(place.server).pid != old.pid)
    #expect(
      try await ask(second.conninfo(database: "haul"), "SELECT answer FROM kept") == "kept")
    await busy.close()
    first.close()
    #expect(try await ask(second.conninfo(database: "haul"), "SELECT answer FROM kept") == "kept")
    second.close()
    try await place.untilStopped()
  }

  @Test func `a number in a file of a dead server that is another's by now is in nobody's way`()
    async throws
  {
    let place = try TestPlace()
    let first = try await place.open()
    let file = try #require(SmallFile.read(try place.directory.postmasterFile))
    first.close()
    try await place.untilStopped()
    // As after a loss of power, when a process of the same user has the number: this one.
    let other = try ChildProcess(
      "setpriv", Self.asServerUser + ["sleep", "600"])
    let stale = file.split(separator: "\n", omittingEmptySubsequences: false).dropFirst()
    try (["\(other.pid)"] + stale.map(String.init)).joined(separator: "\n")
      .write(toFile: place.directory.postmasterFile, atomically: false, encoding: .utf8)
    #expect(EmbeddedCluster.running(place.location, database: "postgres") == nil)
    let second = try await place.open()
    second.close()
    try await place.untilStopped()
    #expect(other.output.value.exit == nil)
  }

  /// Arguments for setpriv(1): the user that the server runs as.
  private static var asServerUser: [String] {
    getuid() == 0 ? ["--reuid", "postgres", "--regid", "postgres", "--clear-groups"] : []
  }
}
