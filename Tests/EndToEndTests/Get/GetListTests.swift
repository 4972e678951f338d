import Foundation
import TestSupport
import Testing

/// Lists that are not all right, as `haul get` takes them.
@Suite(.serialized) struct GetListTests {
  /// Line 2 is wrong, line 4 wants the name of line 1.
  private func list(_ place: GetPlace, _ origin: GetOrigin) throws -> String {
    try place.list(
      origin.urls("one") + ["http://u:p@h/x"] + origin.urls("two") + [origin.server.url("/e/one")])
  }

  @Test func `all that is wrong with a list is told at once`() async throws {
    let (place, origin) = (try await GetPlace(), try GetOrigin())
    let list = try list(place, origin)
    let refused = try await place.get("-i", list)
    #expect(refused.exit == .code(65))
    #expect(
      refused.said == [
        "\(list):2: the URL contains a user name or password, which the database would store. Remove it, and use a credential or a netrc file.",
        "\(list):4: line 1 has the same path \"one\". Use --tree to keep hosts and directories, or --rename to add numbers.",
        "haul get: 2 lines are wrong. Nothing was downloaded. Use --skip-bad to skip them.",
      ])
    #expect(origin.requests == 0)
    #expect(!FileManager.default.fileExists(atPath: place.directory))
  }

  @Test func `many files of one name are told in one sentence, or numbered`() async throws {
    let (place, origin) = (try await GetPlace(), try GetOrigin())
    let urls = (1...5).map { origin.server.url("/v\($0)/one") }
    let list = try place.list(urls)
    let refused = try await place.get("-i", list)
    #expect(refused.exit == .code(65))
    #expect(
      refused.said == [
        "haul get: \(list):2: line 1 has the same path \"one\". Use --tree to keep hosts and directories, or --rename to add numbers. 3 more lines have the same problem. Nothing was downloaded."
      ])
    #expect(try await place.get("--rename", "-i", list).exit == .code(0))
    #expect(try place.files() == ["one", "one.1", "one.2", "one.3", "one.4"])
    #expect(
      Set(origin.server.log.value.exchanges.map(\.request.path)).count == 5)
  }

  @Test func `a file where another needs a directory is told before anything is fetched`()
    async throws
  {
    let (place, origin) = (try await GetPlace(), try GetOrigin())
    let list = try place.list(origin.urls("one", "one/x", "two", "one/y/z"))
    let refused = try await place.get("--tree", "-i", list)
    #expect(refused.exit == .code(65))
    #expect(
      refused.said.count == 1 && refused.said[0].contains("but line 1 saves its file there."),
      "\(refused.said)")
    #expect(refused.said[0].contains("1 more line has the same problem"))
    #expect(origin.requests == 0)
  }

  @Test func `lines that are wrong can be left out`() async throws {
    let (place, origin) = (try await GetPlace(), try GetOrigin())
    let output = try await place.get("--skip-bad", "-i", try list(place, origin))
    #expect(output.exit == .code(0))
    #expect(output.said.count == 3)
    #expect(output.said.last == "haul get: skipped 2 lines")
    #expect(try place.wrong("one", "two") == [])
    #expect(try place.files() == ["one", "two"])
    #expect(try await place.get(["--skip-bad"] + origin.urls("one")).exit == .code(64))
  }

  @Test func `-q does not hide which columns are ignored`() async throws {
    let (place, origin) = (try await GetPlace(), try GetOrigin())
    let list = try place.list(["url,colour"] + origin.urls("one").map { "\($0),x" })
    let output = try await place.get("-q", "-i", list)
    #expect(output.exit == .code(0) && output.standardOutput == [])
    #expect(output.standardError == ["\(list): Haul ignores these columns: colour"])
    try await HaulPool.open { pool in
      let submitted = try await pool.haul(["submit", "-q", "-i", list])
      #expect(submitted.notices == output.standardError)
    }
  }

  @Test func `a list of which no line is right is none, although they can be left out`()
    async throws
  {
    let place = try await GetPlace()
    let list = try place.list(["<html>", "<p>Log in</p>"])
    let output = try await place.get("--skip-bad", "-i", list)
    #expect(output.exit == .code(65))
    #expect(output.standardOutput == [])
    #expect(output.said.last == "haul get: no line of \(list) is correct. Nothing was downloaded.")
  }

  /// Other programs make lists, and there is not always something to do.
  @Test func `a list without lines is done, and said`() async throws {
    let place = try await GetPlace()
    let list = try place.list(["# nothing yet", ""])
    let output = try await place.get("-i", list)
    #expect(output.exit == .code(0))
    #expect(output.said == ["haul get: found no URL in \(list)"])
    #expect(output.standardOutput.first?.hasPrefix("0 files in ") == true)
    #expect(try place.report(try await place.get("--json", "-i", list))["completed"] == 0)
    #expect(place.server == nil)
    #expect(!FileManager.default.fileExists(atPath: place.directory))
  }
}
