import Testing

@testable import EmbeddedPostgres

@Suite("Where the embedded cluster lives")
struct LocationTests {
  @Test(
    "the first that is set of HAUL_STATE_DIR, root's place, XDG_STATE_HOME and HOME",
    arguments: [
      (["HAUL_STATE_DIR": "/s", "HOME": "/h"], true, "/s"),
      (["HAUL_STATE_DIR": "", "HOME": "/root"], true, "/var/lib/haul"),
      (["XDG_STATE_HOME": "/x", "HOME": "/h"], false, "/x/haul"),
      (["XDG_STATE_HOME": "x", "HOME": "/h"], false, "/h/.local/state/haul"),
    ])
  func directory(environment: [String: String], isRoot: Bool, expected: String) throws {
    #expect(
      try ClusterLocation.directory(environment: environment, isRoot: isRoot) == expected)
  }

  @Test("without a home there is none")
  func noHome() {
    #expect(throws: EmbeddedPostgresError.noHome) {
      try ClusterLocation.directory(environment: ["HOME": "h"], isRoot: false)
    }
  }
}
