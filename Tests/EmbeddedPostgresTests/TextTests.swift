import Testing

@testable import EmbeddedPostgres

@Suite("What is read and written as text")
struct TextTests {
  private static func postmasterFile(_ status: String) -> String {
    "4711\n/s/data\n1790000000\n5432\n/s/socket\n\n  1\n\(status)\n"
  }

  @Test(
    arguments: [
      ("starting", .starting), ("ready   ", .ready), ("stopping", .stopping),
      ("standby ", .starting),
      ("", .starting),
    ] as [(String, PostmasterFile.Status)])
  func `a server's file tells its status`(text: String, status: PostmasterFile.Status) throws {
    let file = try #require(PostmasterFile(Self.postmasterFile(text)))
    #expect(file.status == status)
    #expect(file.pid == 4711)
    #expect(file.socketDirectory == "/s/socket")
    #expect(file.identity == "4711 1790000000")
  }

  @Test(arguments: ["", "4711\n", "x\n/s/data\n1\n5432\n/s\n", "-1\n/s/data\n1\n5432\n/s\n"])
  func `half a file, or another, tells nothing`(text: String) {
    #expect(PostmasterFile(text) == nil)
  }

  @Test(arguments: [
    ("postgres (PostgreSQL) 15.14 (Debian 15.14-0+deb12u1)", 15),
    ("postgres (PostgreSQL) 18beta1", 18), ("postgres (EnterpriseDB) 15.1", nil), ("", nil),
  ])
  func `a program tells its major version`(text: String, major: Int?) {
    #expect(ServerInstallation.major(of: text) == major)
  }

  @Test(arguments: [
    ("/usr/lib/postgresql/18/bin", 18), ("/usr/lib/postgresql/next/bin", nil),
    ("/opt/lib/postgresql/18/bin", nil), ("/usr/lib/postgresql/18", nil),
  ])
  func `a package's directory tells its major version`(directory: String, major: Int?) {
    #expect(ServerInstallation.major(ofPackage: directory) == major)
  }

  @Test func `data is served by its own major version alone`() throws {
    let installed = [18, 15].map { ServerInstallation(directory: "/\($0)", major: $0) }
    func choose(_ data: Int?) throws -> Int {
      try ServerInstallation.choose(from: installed, data: data, in: "/s/data").major
    }
    #expect(try choose(nil) == 18)
    #expect(try choose(15) == 15)
    #expect(
      throws: EmbeddedPostgresError.otherMajor(data: 14, installed: 18, directory: "/s/data")
    ) { try choose(14) }
    #expect(throws: EmbeddedPostgresError.programsMissing) {
      try ServerInstallation.choose(from: [], data: nil, in: "/s/data")
    }
  }

  @Test(arguments: [
    ("", "PostgreSQL wrote no error message"),
    (
      "2026-01-01 UTC [7] FATAL:  no\n2026-01-01 UTC [7] LOG:  database system is shut down\n", "no"
    ),
    ("initdb: error: could not\nmore\n", "could not"),
    ("one\ntwo\n", "two"),
  ])
  func `the last complaint of a log is what is told`(text: String, words: String) {
    #expect(ServerLog.lastWords(text) == words)
  }

  @Test func `quotes and commas do not change what a setting means`() {
    #expect(ServerSettings.quoted(#"/a'b\c"#) == #"'/a''b\\c'"#)
    #expect(ServerSettings.listed(#"/a, "b"#) == #""/a, ""b""#)
  }
}
