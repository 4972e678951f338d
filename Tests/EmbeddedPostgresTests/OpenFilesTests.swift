import Foundation
import Glibc
import Testing

@testable import EmbeddedPostgres

/// A process that may open no file more, and so cannot look whether a server runs. Each runs in one of its own, and gives
/// descriptors back at once: Swift's own threads need one now and then.
struct OpenFilesTests {
  /// Calls `body` without a descriptor, and says whether it threw `openFiles`.
  private static func isRefused(_ body: () throws -> Void) -> Bool {
    var limit = rlimit()
    getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    let before = limit
    limit.rlim_cur = 0
    setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    defer {
      var before = before
      setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &before)
    }
    do {
      try body()
      return false
    } catch EmbeddedPostgresError.openFiles {
      return true
    } catch {
      return false
    }
  }

  @Test func `that nothing can be opened does not mean that no server runs`() async {
    await #expect(processExitsWith: .exitCode(3)) {
      let user = ServerUser(name: "nobody", id: 65534, group: 65534, isForRoot: false)
      let directory = ClusterDirectory(location: ClusterLocation(directory: "/nowhere"), user: user)
      let isRefused = Self.isRefused { _ = try ServerState.of(directory, note: "") }
      exit(isRefused ? 3 : 4)
    }
  }

  @Test func `nor that this user does not exist`() async {
    await #expect(processExitsWith: .exitCode(3)) {
      let isRefused = Self.isRefused { _ = try ServerUser.current() }
      exit(isRefused ? 3 : 4)
    }
  }
}
