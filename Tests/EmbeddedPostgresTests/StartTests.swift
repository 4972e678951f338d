import Foundation
import Glibc
import HaulSystem
import TestSupport
import Testing

@testable import EmbeddedPostgres

/// How long the start of a server is waited for.
@Suite(.timeLimit(.minutes(3)))
struct StartTests {
  /// Joins the users of the server in `place`, by a clock that reads `times` one after the other, and then the last
  /// again and again. The server says that it is ready, and is asked once for each time.
  private func join(
    _ place: TestPlace, by times: [Duration],
    whenAsked: @escaping @Sendable (Int) -> Void = { _ in }
  ) async throws -> PostmasterFile {
    let directory = try place.directory
    let turn = try await FileLock.take(directory.turnLock, .exclusive) {}
    defer { turn.release() }
    let users = try await FileLock.take(directory.usersLock, .shared) {}
    defer { users.release() }
    let (start, count) = (ContinuousClock.now, Watched(0))
    var joining = ServerStart(
      directory, turn: turn, users: users,
      now: {
        let number = count.update { count in
          count += 1
          return count
        }
        whenAsked(number)
        return start + times[min(number, times.count) - 1]
      }, observe: { _ in })
    return try await joining.untilReady()
  }

  /// Nobody can connect to the server while `body` runs: its socket has another name.
  private func unheard(
    _ place: TestPlace, _ body: (_ restore: @escaping @Sendable () -> Void) async throws -> Void
  )
    async throws
  {
    let cluster = try await place.open()
    let socket = "\(try place.directory.socketPlace.directory)/.s.PGSQL.\(ServerSettings.port)"
    #expect(rename(socket, socket + ".away") == 0)
    try await body { rename(socket + ".away", socket) }
    // A program that another test starts at this moment may have the other user's lock for a while yet, so that the server
    // runs on; it ends with `place`.
    cluster.close()
  }

  @Test func `a server that does not answer yet is asked again`() async throws {
    let place = try TestPlace()
    try await unheard(place) { restore in
      let server = try await join(place, by: [.zero, .seconds(29)]) { if $0 == 3 { restore() } }
      #expect(server == place.server)
    }
  }

  @Test func `a server that does not answer for half a minute is given up`() async throws {
    let place = try TestPlace()
    let asked = Watched(0)
    try await unheard(place) { _ in
      let error = await #expect(throws: EmbeddedPostgresError.self) {
        try await join(place, by: [.zero, .seconds(29), .seconds(30), .seconds(3600)]) { number in
          asked.update { $0 = number }
        }
      }
      #expect(asked.value == 3)
      guard case .notStarted(let words, _) = error else {
        Issue.record("\(String(describing: error))")
        return
      }
      #expect(
        words.hasPrefix(
          "the server runs as process \(place.server?.pid ?? 0), but Haul cannot connect to it: "))
    }
  }

  /// Recovery takes what it takes.
  @Test func `a server that has not said anything yet is waited for, by others too`() async throws {
    let place = try TestPlace()
    let programs = try await slowPrograms(in: place)
    let location = ClusterLocation(
      directory: place.location.directory, runtimeDirectory: nil, programDirectories: [programs])
    let steps = place.steps
    let first = Task {
      try await EmbeddedCluster.open(location) { step in steps.update { $0.append(step) } }
    }
    try await eventually("the server's program to have begun", within: .seconds(60)) {
      access(programs + "/begun", F_OK) == 0
    }
    let second = Task { try await place.open() }
    try await steps.first("the other one to wait") { $0.last == .waiting ? () : nil }
    try place.release(programs)
    let clusters = [try await first.value, try await second.value]
    #expect(steps.value == [.creating, .starting, .waiting])
    #expect(Set(clusters.map { $0.conninfo(database: "postgres") }).count == 1)
    clusters.forEach { $0.close() }
  }

  /// A directory of programs whose server waits for ``TestPlace/release(_:)`` before it becomes the real one.
  private func slowPrograms(in place: TestPlace) async throws -> String {
    let all = try await ServerInstallation.all(in: place.location, for: .current())
    let real = try #require(all.first).directory
    let directory = place.root.path("slow")
    let script = """
      if [ "$1" != --version ]; then : >\(directory)/begun; read -r line <\(directory)/go; fi
      exec \(real)/postgres "$@"
      """
    try await place.root.install(script, as: "slow/postgres")
    try await place.root.install("exec \(real)/initdb \"$@\"", as: "slow/initdb")
    #expect(mkfifo(directory + "/go", 0o644) == 0)
    // The server is not root's.
    #expect(chmod(directory, 0o777) == 0)
    return directory
  }
}
