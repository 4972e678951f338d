import Foundation
import TestSupport
import Testing

/// Files at an origin that knows how long each is: `/d/NAME` for a name in ``lengths``; all else is missing.
struct GetOrigin {
  static let lengths: [String: Int64] = ["one": 1000, "two": 70_000, "empty": 0, "three": 300_000]

  let server: OriginServer

  init() throws {
    server = try OriginServer { request, reply in
      let name = String(request.path.split(separator: "/").last ?? "")
      guard let length = Self.lengths[name] else {
        return try reply.head("HTTP/1.1 404 Not Found\nContent-Length: 0")
      }
      try Representation(seed: 3, length: length).answer(request, reply)
    }
  }

  func urls(_ names: String...) -> [String] { names.map { server.url("/d/\($0)") } }

  /// How many requests there have been.
  var requests: Int { server.log.value.exchanges.count }
}

extension ChildProcess.Output {
  /// Standard error without the lines that say how far a run is, which come when it takes long.
  var said: [String] {
    standardError.filter {
      !$0.contains(" running, ") && $0.firstMatch(of: #/^haul get: \d+ of \d+ files, /#) == nil
    }
  }
}

extension GetPlace {
  /// Those of the origin's files that are not in the directory as they should be.
  func wrong(_ names: String...) throws -> [String] {
    try names.filter { name in
      try FileTree.firstDifference(
        of: "\(directory)/\(name)", from: Pattern(seed: 3), length: GetOrigin.lengths[name] ?? -1)
        != nil
    }
  }

  /// The last object that `--json` prints, which counts the files.
  func report(_ output: ChildProcess.Output) throws -> [String: Int] {
    let line = try #require(output.standardOutput.last)
    let object = try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any]
    return (object ?? [:]).compactMapValues { $0 as? Int }
  }
}

/// `haul get`: what it brings, says and leaves behind.
@Suite(.serialized) struct GetTests {
  @Test func `files land under their last names, and nothing of Haul's stays`() async throws {
    let (place, origin) = (try await GetPlace(), try GetOrigin())
    let output = try await place.get(origin.urls("one", "two", "empty"))
    #expect(output.exit == .code(0))
    #expect(output.standardOutput.count == 1)
    #expect(output.standardOutput.first?.hasPrefix("3 files, ") == true)
    #expect(output.said == [])
    #expect(try place.files() == ["empty", "one", "two"])
    #expect(try place.wrong("one", "two", "empty") == [])
    #expect(!FileManager.default.fileExists(atPath: place.directory + "/.haul"))
    try await place.serverGone()
  }

  @Test func `without a cluster one is made, and said`() async throws {
    let (place, origin) = (try await GetPlace(), try GetOrigin())
    try FileManager.default.removeItem(atPath: place.state)
    let output = try await place.get(origin.urls("one"))
    #expect(output.exit == .code(0))
    // Where the machine is slow, how far it is comes after that.
    #expect(output.said.first == "haul get: creating a database for the queue (only once)")
    #expect(try place.files() == ["one"])
    try await place.serverGone()
  }

  @Test func `a list is read from a file and from standard input`() async throws {
    let (place, origin) = (try await GetPlace(), try GetOrigin())
    let list = try place.list(["# two", ""] + origin.urls("one", "two"))
    #expect(try await place.get("-i", list).exit == .code(0))
    #expect(try place.wrong("one", "two") == [])
    let shell = try ChildProcess(
      "sh",
      ["-c", "exec \"$0\" get -d \"$1\" -i - <\"$2\"", HaulProcess.path, place.directory]
        + [try place.list(origin.urls("three"))], environment: ["HAUL_STATE_DIR": place.state])
    #expect(try await shell.result().exit == .code(0))
    #expect(try place.wrong("three") == [])
  }

  @Test func `with --tree a file keeps its host and directories`() async throws {
    let (place, origin) = (try await GetPlace(), try GetOrigin())
    let host = "127.0.0.1_\(origin.server.port)"
    let urls = origin.urls("one") + [origin.server.url("/e/one")]
    #expect(try await place.get(["--tree"] + urls).exit == .code(0))
    #expect(try place.files() == ["\(host)/d/one", "\(host)/e/one"])
  }

  @Test func `a digest is checked`() async throws {
    let (place, origin) = (try await GetPlace(), try GetOrigin())
    try Pattern(seed: 3).write(to: place.path("right"), length: 1000)
    let sum = try await ChildProcess.run("sha256sum", [place.path("right")]).standardOutput
    let digest = String(sum.first?.prefix(64) ?? "")
    let right = try await place.get(["--checksum", "sha-256=\(digest)"] + origin.urls("one"))
    #expect(right.exit == .code(0))
    let wrong = try await place.get(["--checksum", "sha-256=\(digest)"] + origin.urls("two"))
    #expect(wrong.exit == .code(1))
    #expect(wrong.said.last == "haul get: 1 file failed (1 digest).")
    #expect(try place.files() == ["one"])
  }

  @Test func `what fails is named with its reason, and the rest is brought`() async throws {
    let (place, origin) = (try await GetPlace(), try GetOrigin())
    let output = try await place.get(origin.urls("one", "missing"))
    #expect(output.exit == .code(1))
    #expect(output.standardOutput.first?.hasPrefix("1 file, ") == true)
    #expect(output.said.first?.hasPrefix("haul get: \(origin.urls("missing")[0]): ") == true)
    #expect(output.said.first?.contains("404") == true)
    #expect(output.said.last == "haul get: 1 file failed (1 http_404).")
    #expect(try place.files() == ["one"])
    #expect(!FileManager.default.fileExists(atPath: place.directory + "/.haul"))
  }

  @Test func `programs get counts at the end, and --quiet says only what failed`() async throws {
    let (place, origin) = (try await GetPlace(), try GetOrigin())
    let urls = origin.urls("one", "two", "missing")
    let output = try await place.get(["--json", "--quiet"] + urls)
    let report = try place.report(output)
    #expect(output.standardOutput.count == 4)
    #expect([report["completed"], report["failed"], report["unfinished"]] == [2, 1, 0])
    #expect([report["bytes"], report["fetched"]] == [71_000, 71_000])
    #expect(output.said.count == 2)
  }

  @Test func `the same URL twice is one file`() async throws {
    let (place, origin) = (try await GetPlace(), try GetOrigin())
    let output = try await place.get(["--json"] + origin.urls("one", "one"))
    #expect(output.exit == .code(0))
    #expect(try place.report(output)["completed"] == 1)
    #expect(origin.requests == 1)
  }

  @Test func `two URLs with one name are refused, with the way out`() async throws {
    let (place, origin) = (try await GetPlace(), try GetOrigin())
    let urls = origin.urls("two", "one") + [origin.server.url("/e/one")]
    let typed = try await place.get(urls)
    #expect(typed.exit == .code(65))
    #expect(
      typed.said == [
        "haul get: URL 3: URL 2 has the same path \"one\". Use --tree to keep hosts and "
          + "directories, or --rename to add numbers. Nothing was downloaded."
      ])
    let list = try place.list(urls)
    let listed = try await place.get("-i", list)
    #expect(listed.exit == .code(65))
    #expect(listed.said.first?.hasPrefix("haul get: \(list):3: line 2 has the same path ") == true)
    #expect(origin.requests == 0)
    #expect(!FileManager.default.fileExists(atPath: place.directory))
    #expect(try await place.get(["--tree"] + urls).exit == .code(0))
  }

  @Test func `a single file can have another name`() async throws {
    let (place, origin) = (try await GetPlace(), try GetOrigin())
    let output = try await place.get(["-o", "other"] + origin.urls("one"))
    #expect(output.exit == .code(0))
    #expect(try place.files() == ["other"])
    let below = try await place.get(["-o", "a/b/c"] + origin.urls("one"))
    #expect(below.exit == .code(0))
    #expect(try place.files() == ["a/b/c", "other"])
    for (wrong, sentence) in [
      (
        ["-o", "other"] + origin.urls("one", "two"),
        "needs exactly one URL. Use -d to name the directory."
      ),
      (
        ["-o", "other", "--tree"] + origin.urls("one"),
        "You cannot use --output and --tree together"
      ),
      (["-o", "a"] + origin.urls("one"), "a is a directory. Use -d a."),
      (["-o", "-"] + origin.urls("one"), "For a file named -, use -o ./-."),
      (["-o", "new/"] + origin.urls("one"), "new/ is a directory. Use -d new/."),
      (
        ["-o", ".haul/x"] + origin.urls("one"),
        ".haul/x is in a directory .haul, which Haul uses for its own files."
      ),
      (
        ["-o", "a/.HAUL"] + origin.urls("one"),
        "a/.HAUL is in a directory .haul, which Haul uses for its own files."
      ),
      (["--name", "other"] + origin.urls("one"), "-o names the file and can include a directory."),
    ] {
      let refused = try await place.get(wrong)
      #expect(refused.exit == .code(64))
      #expect(refused.said.first?.contains(sentence) == true, "\(refused.said)")
    }
    let file = try await place.get(origin.urls("one"), to: place.path("files/other"))
    #expect(file.exit == .code(64))
    #expect(file.said.first?.contains("is a file. Use -o ") == true, "\(file.said)")
    let own = try await place.get(origin.urls("one"), to: place.path("files/.haul/parts"))
    #expect(own.exit == .code(64))
    let absolute = place.path("elsewhere/one.bin")
    #expect(try await place.get(["-o", absolute] + origin.urls("one")).exit == .code(0))
    #expect(try FileTree.files(below: place.path("elsewhere")) == ["one.bin"])
    #expect(try await place.get(["-o", ".."] + origin.urls("one")).exit == .code(64))
    #expect(try place.files() == ["a/b/c", "other"])
  }

  @Test func `what other programs would take is answered with the way here`() async throws {
    let (place, origin) = (try await GetPlace(), try GetOrigin())
    let bare = try await place.get("example.org/a.iso")
    #expect(bare.exit == .code(65))
    #expect(
      bare.said == [
        "haul get: the URL has no scheme. Did you mean https://example.org/a.iso? "
          + "Nothing was downloaded."
      ])
    let word = try await place.get("example")
    #expect(word.exit == .code(65))
    #expect(
      word.said == [
        "haul get: 'example' is not a URL. A URL begins with https:// or http://. Nothing was downloaded."
      ])
    let url = origin.server.url("/a.iso")
    _ = try place.list([url])
    let list = try await place.get("list.txt")
    #expect(list.exit == .code(64))
    #expect(
      list.said.first
        == "haul get: 'list.txt' is a local file. To download the URLs in it, use -i list.txt")
    #expect(origin.requests == 0)
  }
}
