import Foundation
import Glibc
import TestSupport
import Testing

/// The same command again, after an end and after an interruption.
@Suite(.serialized) struct GetAgainTests {
  enum Interruption: String, Sendable, CaseIterable { case interrupt, terminate, kill }

  func interrupt(_ run: HaulProcess, by how: Interruption) async throws {
    switch how {
    case .interrupt, .terminate:
      run.signal(how == .interrupt ? SIGINT : SIGTERM)
      #expect(try await run.exit() == .code(75))
    case .kill:
      run.signal(SIGKILL)
      #expect(try await run.exit() == .signal(SIGKILL))
    }
  }

  @Test func `what is there is not fetched, what was deleted is`() async throws {
    let (place, origin) = (try await GetPlace(), try GetOrigin())
    let urls = origin.urls("one", "two", "empty")
    #expect(try await place.get(urls).exit == .code(0))
    let again = try await place.get(["--json"] + urls)
    #expect(again.exit == .code(0))
    #expect(try place.report(again)["finished_before"] == 3)
    #expect(origin.requests == 3)

    unlink(place.directory + "/two")
    let third = try await place.get(urls)
    #expect(third.exit == .code(0))
    #expect(
      third.standardOutput.first?.hasSuffix(", 3 of 3 complete, 2 from an earlier run")
        == true)
    #expect(origin.requests == 4)
    #expect(try place.wrong("one", "two", "empty") == [])
  }

  @Test func `what is there is read where a digest is asked for that it was not compared with`()
    async throws
  {
    let (place, origin) = (try await GetPlace(), try GetOrigin())
    let urls = origin.urls("one")
    #expect(try await place.get(urls).exit == .code(0))
    let sum = try await ChildProcess.run("sha256sum", [place.directory + "/one"]).standardOutput
    let digest = String(sum.first?.prefix(64) ?? "")
    let right = try await place.get(["--checksum", "sha-256=\(digest)"] + urls)
    #expect(right.exit == .code(0))
    #expect(right.standardOutput == ["1 file from an earlier run"])

    let wrong = String(repeating: "0", count: 64)
    let refused = try await place.get(["--checksum", "sha-256=\(wrong)"] + urls)
    #expect(refused.exit == .code(1))
    #expect(refused.said.last == "haul get: 1 file failed (1 exists).")
    #expect(try place.wrong("one") == [])
    #expect(origin.requests == 1)
  }

  /// The second run is stopped in the middle; the third is the same command, and goes on.
  @Test(arguments: ["replace", "rename"])
  func `to replace or rename begins anew after an end, and goes on after an interruption`(
    policy: String
  ) async throws {
    let (place, origin, file) = (try await GetPlace(), try GetOrigin(), try GatedFile())
    let urls = origin.urls("one") + [file.origin.url("/file")]
    #expect(try await place.get(origin.urls("one")).exit == .code(0))
    #expect(origin.requests == 1)

    // As `fail` the file of that run would count.
    let asked = ["--if-exists", policy] + urls
    let run = try place.start(asked, log: "debug")
    _ = try await file.checkpoint(run)
    try await run.event("job.completed")
    try await interrupt(run, by: .interrupt)
    #expect(origin.requests == 2)

    let stopped = try place.start(asked, log: "debug")
    try await stopped.event("job.resumed")
    try await interrupt(stopped, by: .interrupt)
    file.gate.open()
    let end = try await place.get(asked)
    #expect(end.exit == .code(0))
    #expect(end.standardOutput.first?.hasSuffix(", 1 from an earlier run") == true)
    #expect(origin.requests == 2)

    #expect(try await place.get(asked).exit == .code(0))
    #expect(origin.requests == 3)
    #expect(try place.wrong("one") == [])
  }

  @Test func `stopped on a terminal, it leaves sentences and no bars`() async throws {
    let (place, file) = (try await GetPlace(), try GatedFile())
    let screen = try await place.terminal(columns: 42, file.origin.url("/file"))
    try await screen.wait(for: "half of the file") { content in
      content.rows.count { $0.contains(" 50%") } == 2
    }
    try await screen.type("C-c")
    let end = try await screen.wait(for: "the exit code") { $0.rows.contains("exit 75") }
    #expect(end.rows.contains { $0.hasPrefix("haul get: stopped with 1 file unfinished") })
    #expect(!end.rows.contains { $0.contains("%") })
    #expect(end.hasCursor)
    // Broken between words.
    #expect(end.rows.contains("haul get: stopping and saving your"), "\(end)")
    #expect(end.rows.contains("progress"))
    file.gate.open()
  }

  @Test func `brought, there already, skipped and failed are told apart`() async throws {
    let (place, origin) = (try await GetPlace(), try GetOrigin())
    #expect(try await place.get(origin.urls("one")).exit == .code(0))
    for name in ["three", "empty"] {
      try Data("mine".utf8).write(to: URL(filePath: place.directory + "/" + name))
    }
    let urls = origin.urls("one", "two", "three", "nowhere")
    let output = try await place.get(["--if-exists", "skip"] + urls)
    #expect(output.exit == .code(1))
    let sentence = try #require(output.standardOutput.first)
    #expect(sentence.hasPrefix("1 file, 68.4 KiB in "))
    #expect(
      sentence.hasSuffix(", 2 of 4 complete, 1 from an earlier run, 1 skipped, 1 failed"))
    let programs = try await place.get(["--json", "--if-exists", "skip"] + origin.urls("empty"))
    let report = try place.report(programs)
    #expect(report["skipped"] == 1 && report["completed"] == 0 && report["bytes"] == 0)
  }

  @Test func `a file of another length there fails the job, and the way out is named`() async throws
  {
    let (place, origin) = (try await GetPlace(), try GetOrigin())
    #expect(try await place.get(origin.urls("one")).exit == .code(0))
    let file = place.directory + "/one"
    try Data("mine".utf8).write(to: URL(filePath: file))
    let output = try await place.get(origin.urls("one"))
    #expect(output.exit == .code(1))
    #expect(output.said.contains { $0.contains("--if-exists") })
    #expect(output.said.last == "haul get: 1 file failed (1 exists).")
    #expect(try Data(contentsOf: URL(filePath: file)) == Data("mine".utf8))
    #expect(try place.files() == ["one"])
    // That it is in the way is known without asking the source.
    for (policy, code) in [("fail", Int32(1)), ("skip", 0)] {
      let again = try await place.get(["--if-exists", policy] + origin.urls("one"))
      #expect(again.exit == .code(code))
    }
    #expect(origin.requests == 1)
  }

  @Test func `a file there that nobody has fetched fails before anything is asked for`()
    async throws
  {
    let (place, origin) = (try await GetPlace(), try GetOrigin())
    try FileManager.default.createDirectory(
      atPath: place.directory, withIntermediateDirectories: true)
    try Data("mine".utf8).write(to: URL(filePath: place.directory + "/one"))
    let output = try await place.get(origin.urls("one", "two"))
    #expect(output.exit == .code(1))
    #expect(
      output.said.contains(
        "haul get: \(origin.urls("one")[0]): the file one already exists; use --if-exists skip, replace or rename"
      ))
    #expect(origin.requests == 1)
    #expect(try place.files() == ["one", "two"])
  }

  @Test(arguments: [
    ("replace", ["one"], nil), ("skip", ["one"], "mine"), ("rename", ["one", "one.1"], "mine"),
  ])
  func `a file there is replaced, kept, or kept beside the new one`(
    policy: String, files: [String], left: String?
  ) async throws {
    let (place, origin) = (try await GetPlace(), try GetOrigin())
    try FileManager.default.createDirectory(
      atPath: place.directory, withIntermediateDirectories: true)
    let file = URL(filePath: place.directory + "/one")
    try Data("mine".utf8).write(to: file)
    let output = try await place.get(["--if-exists", policy] + origin.urls("one"))
    #expect(output.exit == .code(0))
    // What is to be kept is noticed before anything is asked for.
    #expect(origin.requests == (policy == "skip" ? 0 : 1))
    #expect(try place.files() == files)
    if let left {
      #expect(try Data(contentsOf: file) == Data(left.utf8))
    } else {
      #expect(try place.wrong("one") == [])
    }
  }

  /// The first half is on the disk and recorded; killed or not, the next run begins there.
  @Test(arguments: Interruption.allCases)
  func `interrupted in a large file, only the rest is fetched`(
    _ how: Interruption
  ) async throws {
    let (place, file) = (try await GetPlace(), try GatedFile())
    let run = try place.start(file.origin.url("/file"), log: "debug")
    _ = try await file.checkpoint(run)
    try await interrupt(run, by: how)
    #expect(try FileTree.files(below: place.directory + "/.haul").count == 2)
    #expect(!FileManager.default.fileExists(atPath: place.directory + "/file"))

    file.gate.open()
    let again = try await place.get(file.origin.url("/file"))
    #expect(again.exit == .code(0))
    #expect(again.said.contains("haul get: continuing 1 file of an earlier run"))
    #expect(
      again.standardOutput.first?.hasPrefix("1 file, 8.0 MiB; 4.0 MiB downloaded in ") == true)
    #expect(try file.firstDifference(in: place.directory) == nil)
    #expect(try place.files() == ["file"])
    let exchange = try #require(file.origin.log.value.exchanges.last)
    #expect(
      exchange.request[field: "Range"]
        == "bytes=\(GatedFile.half - 4096)-\(GatedFile.length - 1)")
    #expect(exchange.status == 206)
    #expect(!FileManager.default.fileExists(atPath: place.directory + "/.haul"))
    try await place.serverGone()
  }

  /// Too short for its bar to be seen falling.
  @Test func `a server that does not go on where the last run stopped is told of`() async throws {
    let (place, gate, half) = (try await GetPlace(), Gate("the rest"), Int64(32 << 10))
    var file = Representation(seed: 7, length: 2 * half)
    file.acceptsRanges = false
    file.gates = [half: gate]
    let origin = try OriginServer { [file] in try file.answer($0, $1) }
    let run = try place.start(origin.url("/file"), log: "debug")
    try await run.event("job.checkpoint") { $0[field: "offset"] == "\(half)" }
    try await interrupt(run, by: .interrupt)
    gate.open()
    let again = try await place.get(origin.url("/file"))
    #expect(again.exit == .code(0))
    #expect(
      again.said.contains(
        "haul get: file: starting again from the first byte: the server cannot resume the download"
      ), "\(again.said)")
    #expect(again.standardOutput.first?.hasPrefix("1 file, 64.0 KiB in ") == true)
    #expect(
      try FileTree.firstDifference(
        of: place.directory + "/file", from: file.pattern, length: file.length) == nil)
  }

  @Test(arguments: [false, true])
  func `a bar that falls, or begins lower, is explained when it does, and once`(
    answersAtOnce: Bool
  ) async throws {
    let (place, asked, rest) = (try await GetPlace(), Gate("the next answer"), Gate("the rest"))
    var file = Representation(seed: 7, length: GatedFile.length)
    file.acceptsRanges = false
    file.gates = [GatedFile.half: rest]
    var again = file
    again.gates = [GatedFile.half / 4: rest]
    let requests = Watched(0)
    let origin = try OriginServer { [file, again] request, reply in
      requests.update { $0 += 1 }
      if requests.value == 1 { return try file.answer(request, reply) }
      try reply.wait(for: asked)
      try again.answer(request, reply)
    }
    let run = try place.start(origin.url("/file"), log: "debug")
    try await run.event("job.checkpoint") { $0[field: "offset"] == "\(GatedFile.half)" }
    try await interrupt(run, by: .interrupt)

    if answersAtOnce { asked.open() }
    let screen = try await place.terminal(columns: 100, origin.url("/file"))
    if !answersAtOnce {
      try await screen.wait(for: "half of the file") { content in
        content.rows.count { $0.contains(" 50% ") } == 2
      }
      asked.open()
    }
    let notice =
      "haul get: file: starting again from the first byte: the server cannot resume the download"
    try await screen.wait(for: "the notice above the bars") { content in
      content.rows.suffix(3).first == notice && content.rows.last?.contains(" 12% ") == true
    }
    rest.open()
    let end = try await screen.wait(for: "the end") { $0.rows.contains("exit 0") }
    #expect(end.rows.count { $0.contains("starting again") } == 1, "\(end)")
  }

  /// Without a length the whole file is downloaded a second time.
  @Test func `a bar that falls because two fetches are compared is explained`() async throws {
    let (place, first, second) = (
      try await GetPlace(), Gate("the end of the first"), Gate("the rest")
    )
    let bytes = [UInt8](repeating: 7, count: 512 << 10)
    let requests = Watched(0)
    let origin = try OriginServer { _, reply in
      requests.update { $0 += 1 }
      try reply.head("HTTP/1.1 200 OK\nConnection: close")
      if requests.value == 1 {
        try reply.body(bytes)
        try reply.wait(for: first)
      } else {
        try reply.body(Array(bytes.prefix(bytes.count / 2)))
        try reply.wait(for: second)
        try reply.body(Array(bytes.suffix(bytes.count / 2)))
      }
      reply.close()
    }
    let screen = try await place.terminal(columns: 120, origin.url("/file"))
    try await screen.wait(for: "all of the first") { content in
      content.rows.contains { $0.contains(" 512 KiB ") }
    }
    first.open()
    try await screen.wait(for: "the notice") { content in
      content.rows.contains(
        "haul get: file: starting again from the first byte: the server sends no length, so Haul compares two downloads"
      )
    }
    second.open()
    let end = try await screen.wait(for: "the end") { $0.rows.contains("exit 0") }
    #expect(end.rows.count { $0.contains("starting again") } == 1, "\(end)")
  }
}
