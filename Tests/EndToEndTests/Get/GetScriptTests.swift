import Foundation
import TestSupport
import Testing

/// `haul get` for scripts: one JSON object for each file, and no word on success.
@Suite(.serialized) struct GetScriptTests {
  /// The lines of standard output, each of which must be an object, by their URLs; the last one, which has none, is `nil`'s.
  private func objects(_ output: ChildProcess.Output) throws -> [String?: [String: Any]] {
    let objects = try output.standardOutput.map { line in
      try #require(try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
    }
    #expect(objects.last?["url"] == nil)
    return Dictionary(
      objects.map { ($0["url"] as? String, $0) }, uniquingKeysWith: { first, _ in first })
  }

  private func words(_ object: [String: Any]?, _ names: String...) -> [String?] {
    names.map { object?[$0] as? String }
  }

  @Test func `each file gets an object as it ends, and all of them together one more`() async throws
  {
    let (place, origin) = (try await GetPlace(), try GetOrigin())
    let urls = origin.urls("one", "two", "missing")
    try Data("mine".utf8).write(to: place.made("two"))
    let sum = String(repeating: "0", count: 64)
    let list = try place.list(
      [urls[0], urls[1], urls[2]].map { "{\"url\":\"\($0)\"}" } + [
        "{\"url\":\"\(origin.server.url("/d/three"))\",\"digest\":\"sha-256=\(sum)\"}"
      ])
    let output = try await place.get(["--json", "--if-exists", "skip", "-i", list])
    #expect(output.exit == .code(1))
    #expect(output.standardOutput.count == 5)
    let objects = try objects(output)
    for object in objects.values where object["url"] != nil {
      #expect(
        Set(object.keys) == ["url", "path", "bytes", "digest", "state", "error", "message"])
    }
    let one = objects[urls[0]]
    #expect(
      words(one, "path", "state", "error", "digest", "message")
        == [place.directory + "/one", "completed", nil, nil, nil])
    #expect(one?["bytes"] as? Int == 1000 && one?["digest"] is NSNull)
    #expect(words(objects[urls[1]], "path", "state") == [place.directory + "/two", "skipped"])
    let missing = objects[urls[2]]
    #expect(
      words(missing, "state", "error", "message")
        == ["failed", "http_404", "the server answered 404"])
    #expect(missing?["bytes"] is NSNull)
    #expect(
      words(objects[origin.server.url("/d/three")], "state", "error") == ["failed", "digest"])
    let all = try #require(objects[nil])
    #expect(["files", "completed", "skipped", "failed"].map { all[$0] as? Int } == [4, 1, 1, 2])
  }

  @Test func `a file has the name that it got, and the digest that it was compared with`()
    async throws
  {
    let (place, origin) = (try await GetPlace(), try GetOrigin())
    try Pattern(seed: 3).write(to: place.path("right"), length: 1000)
    let sum = try await ChildProcess.run("sha256sum", [place.path("right")]).standardOutput
    let digest = "sha-256=\(sum.first?.prefix(64) ?? "")"
    try Data("mine".utf8).write(to: place.made("one"))
    let url = origin.urls("one")[0]
    let command = ["--json", "--checksum", digest, url]
    let renamed = try objects(try await place.get(["--if-exists", "rename"] + command))[url]
    #expect(words(renamed, "path", "digest") == [place.directory + "/one.1", digest])

    // What an earlier run has brought is listed too.
    let first = try objects(try await place.get(command, to: "other"))[url]
    let again = try objects(try await place.get(command, to: "other"))[url]
    #expect(words(first, "path", "digest", "state") == ["other/one", digest, "completed"])
    #expect(words(again, "path", "digest", "state") == ["other/one", digest, "completed"])
    #expect(again?["bytes"] as? Int == 1000)
  }

  @Test func `a reader that goes away stops the run, which can go on`() async throws {
    let (place, origin, file) = (try await GetPlace(), try GetOrigin(), try GatedFile())
    let urls = origin.urls("one") + [file.origin.url("/file")]
    let shell = try ChildProcess(
      "bash",
      ["-c", "exec 3> >(true); wait $!; exec \"$@\" >&3", "-", HaulProcess.path, "get", "--json"]
        + ["-d", place.directory] + urls, environment: ["HAUL_STATE_DIR": place.state])
    let output = try await shell.result()
    #expect(output.exit == .code(74))
    #expect(output.said.last?.contains("the output: Broken pipe") == true, "\(output.said)")
    file.gate.open()
    #expect(try await place.get(urls).exit == .code(0))
    #expect(try place.wrong("one") == [])
  }

  @Test func `-q is silent on success, and says what failed`() async throws {
    let (place, origin) = (try await GetPlace(), try GetOrigin())
    let right = try await place.get(["-q"] + origin.urls("one", "two"))
    #expect(right.exit == .code(0) && right.standardOutput == [] && right.standardError == [])
    let wrong = try await place.get(["-q"] + origin.urls("one", "two", "missing"))
    #expect(wrong.exit == .code(1) && wrong.standardOutput == [])
    #expect(wrong.said.count == 2)
    #expect(wrong.said.last == "haul get: 1 file failed (1 http_404).")
  }

  @Test func `a resumed run counts the whole list, in progress and at the end`() async throws {
    let (place, origin, file) = (try await GetPlace(), try GetOrigin(), try GatedFile())
    let urls = origin.urls("one", "two") + [file.origin.url("/file")]
    #expect(try await place.get(origin.urls("one", "two")).exit == .code(0))
    let screen = try await place.terminal(columns: 80, urls.joined(separator: " "))
    // The bytes that were there count as the files do.
    try await screen.wait(for: "half of the file") { content in
      content.rows.contains { $0.hasPrefix("2 of 3 files ") && $0.contains(" 4.1/8.1 MiB ") }
    }
    file.gate.open()
    let end = try await screen.wait(for: "the end") { $0.rows.contains("exit 0") }
    #expect(
      end.rows.contains {
        $0.hasPrefix("1 file, 8.0 MiB")
          && $0.hasSuffix(", 3 of 3 complete, 2 from an earlier run")
      }, "\(end)")
  }

  @Test func `a long URL that fails takes one line of a terminal, and is whole elsewhere`()
    async throws
  {
    let (place, origin) = (try await GetPlace(), try GetOrigin())
    let url = origin.server.url("/" + String(repeating: "directory/", count: 20) + "name.iso")
    let output = try await place.get(url)
    #expect(output.said.first == "haul get: \(url): the server answered 404")
    let screen = try await place.terminal(columns: 80, url)
    let end = try await screen.wait(for: "the end") { $0.rows.contains("exit 1") }
    let line = try #require(end.rows.first { $0.hasPrefix("haul get: ") })
    #expect(line.hasPrefix("haul get: http://127.0.0.1:\(origin.server.port)"))
    #expect(line.hasSuffix("/name.iso: the server answered 404") && line.count == 80, "\(line)")
    #expect(line.contains("…"))
  }
}

extension GetPlace {
  /// Where a file called `name` is to be written beforehand, in a directory that is made.
  fileprivate func made(_ name: String) throws -> URL {
    try FileManager.default.createDirectory(
      atPath: directory, withIntermediateDirectories: true)
    return URL(filePath: "\(directory)/\(name)")
  }
}
