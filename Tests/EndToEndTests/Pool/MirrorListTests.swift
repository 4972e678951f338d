import Foundation
import Postgres
import TestSupport
import Testing

/// Lists whose lines hold several URLs of one file.
struct MirrorListTests {
  private static let file = Representation(seed: 9, length: 5000)

  /// Nobody listens at the first address of each line, the second refuses, and the third has the file.
  private func list(_ count: Int, _ origin: OriginServer) -> String {
    (1...count).map {
      "http://127.0.0.1:1/\($0)\t\(origin.url("/gone/\($0)"))\t\(origin.url("/a"))\n"
    }.joined()
  }

  @Test func `a worker asks the URLs of a line in their order`() async throws {
    try await HaulPool.open { pool in
      let directory = try TemporaryDirectory()
      let origin = try OriginServer(handler: Site(["/a": Self.file]).answer)
      let place = try directory.write(list(20, origin), to: "list.txt")
      let submitted = try await pool.haul(["submit", "-q", "-i", place])
      #expect(submitted.exit == .code(0) && submitted.notices == [])
      #expect(try await pool.worker("--exit-when-idle").exit() == .code(0))
      for number in 1...20 {
        let found = try Data(
          contentsOf: URL(filePath: "\(pool.directory)/127.0.0.1_1/\(number)"))
        #expect(Array(found) == Self.file.bytes(in: 0..<5000))
      }
      #expect(
        try await pool.value("SELECT count(*) FROM haul.jobs WHERE url LIKE '%/a'") == 20)
      let again = try await pool.haul(["submit", "-i", place])
      #expect(again.standardOutput == ["submitted 0 jobs, 20 existed already, 0 queued again"])
    }
  }

  @Test func `a job that every URL refuses says which one refused it last`() async throws {
    try await HaulPool.open { pool in
      let directory = try TemporaryDirectory()
      let origins = [
        try OriginServer(handler: Site().answer), try OriginServer(handler: Site().answer),
      ]
      let place = try directory.write(
        origins.map { $0.url("/a") }.joined(separator: "\t") + "\n", to: "list.txt")
      try await pool.command("submit", "-q", "-i", place)
      #expect(try await pool.worker("--exit-when-idle").exit() == .code(0))
      #expect(try await pool.state(of: 1) == "failed")
      let messages: [String] = try await pool.admin.query(
        "SELECT message FROM haul.attempts ORDER BY attempt"
      ).map { try $0.decode(0) }
      #expect(messages.count == 2)
      for (message, origin) in zip(messages, origins) {
        #expect(message.hasPrefix("127.0.0.1:\(origin.port): "), "\(message)")
      }
    }
  }

  @Test func `a mirror that is no URL, and too many of them, are wrong`() async throws {
    try await HaulPool.open { pool in
      let directory = try TemporaryDirectory()
      let many = (1...17).map { "\"http://h/\($0)\"" }.joined(separator: ",")
      let place = try directory.write(
        """
        {"url": "http://h/a", "mirrors": ["h/b"]}
        {"url": "http://h/c", "mirrors": [\(many)]}
        {"url": "http://h/d", "mirrors": ["http://u:secret@h/b"]}
        """, to: "list.jsonl")
      let output = try await pool.haul(["submit", "-i", place])
      #expect(output.exit == .code(65))
      let said = output.standardError.joined(separator: "\n")
      #expect(said.contains("the URL of a mirror is not valid: "))
      #expect(said.contains("the job has 17 mirrors, but the maximum is 16"))
      #expect(!said.contains("secret"))
    }
  }

  @Test func `get asks them too`() async throws {
    let place = try await GetPlace()
    let origin = try OriginServer(handler: Site(["/a": Self.file]).answer)
    let directory = try TemporaryDirectory()
    let list = try directory.write("http://127.0.0.1:1/x\t\(origin.url("/a"))\n", to: "list.txt")
    let output = try await place.get(["-i", list])
    #expect(output.exit == .code(0))
    let found = try Data(contentsOf: URL(filePath: "\(place.directory)/x"))
    #expect(Array(found) == Self.file.bytes(in: 0..<5000))
  }
}
