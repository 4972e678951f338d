import Foundation
import Glibc
import TestSupport
import Testing

/// The programs of the package in `Examples` do what their first lines say.
@Suite(.timeLimit(.minutes(10)))
struct ExampleProgramTests {
  private let place: ExamplePlace

  init() throws {
    place = try ExamplePlace()
  }

  private func urls(_ names: String...) -> [String] { names.map { place.origin.url("/\($0)") } }

  @Test func `the programs import the small part of Foundation alone`() throws {
    let sources = repositoryRoot.appending(path: "Examples/Sources")
    for file in try FileTree.files(below: sources.path) {
      let text = try String(contentsOf: sources.appending(path: file), encoding: .utf8)
      let imported = text.matches(of: /(?m)^.*import (\w+)$/).map { String($0.1) }
      let allowed: Set = [
        "Dispatch", "FoundationEssentials", "Glibc", "HaulTransfer", "Synchronization",
      ]
      #expect(allowed.isSuperset(of: imported), "\(file) imports \(imported)")
      #expect(imported.contains("HaulTransfer") || file == "Manager/Main.swift", "\(file)")
    }
  }

  // MARK: - Mirror

  @Test func `Mirror downloads a list four at a time`() async throws {
    let names = (1...6).map { "slow\($0)" }
    let child = try await place.start(
      "Mirror", [place.directory.path] + names.map { place.origin.url("/\($0)") })
    _ = try await place.origin.request(4)
    place.gate.open()
    #expect(try await child.exit() == .code(0))
    #expect(try place.names == names)
    for name in names { try place.expectComplete(name) }
  }

  @Test func `Mirror downloads one after another`() async throws {
    let output = try await place.run(
      "Mirror", ["--one-at-a-time", place.directory.path] + urls("a", "b", "c", "none"))
    #expect(output.exit == .code(1))
    #expect(
      output.standardOutput == ["a", "b", "c"].map { "\(place.directory.path($0)): 300000 bytes" }
        + ["\(urls("none")[0]): the server answered 404"])
    let log = place.origin.log.value
    #expect(log.exchanges.map(\.request.path) == ["/a", "/b", "/c", "/none"])
    // Two at once would need two.
    #expect(log.connections == 1)
  }

  @Test func `Mirror leaves nothing unfinished behind when it is interrupted`() async throws {
    let child = try await place.start(
      "Mirror", [place.directory.path] + urls("slow1", "slow2", "a"))
    try await child.line(place.directory.path("a"))
    for name in ["/slow1", "/slow2"] {
      try await place.origin.sent(ExamplePlace.half, path: name)
    }
    child.signal(SIGINT)
    #expect(try await child.exit() == .code(130))
    #expect(try place.names == ["a"])
    place.gate.open()
  }

  // MARK: - Manager

  /// The standard input of a program that a test writes to.
  private final class Input {
    let path: String
    private let handle: FileHandle

    init(_ path: String) throws {
      self.path = path
      try #require(mkfifo(path, 0o600) == 0)
      // For both, so that it does not wait for a reader.
      let pipe = open(path, O_RDWR | O_CLOEXEC)
      try #require(pipe >= 0)
      handle = FileHandle(fileDescriptor: pipe, closeOnDealloc: true)
    }

    func write(_ line: String) throws { try handle.write(contentsOf: Data("\(line)\n".utf8)) }
  }

  @Test func `Manager obeys, and continues its list when it starts again`() async throws {
    let scratch = try TemporaryDirectory()
    let input = try Input(scratch.path("input"))
    let child = try await place.start("Manager", [place.directory.path], input: input.path)
    for url in urls("slow1", "slow2", "a", "none") { try input.write("add \(url)") }
    try await child.line("1 50 %")
    try await child.line("2 50 %")
    try input.write("remove 2")
    try await child.line("2 removed")
    try await child.line("3 complete \(place.directory.path("a"))")
    try await child.line("4 ended: http404: the server answered 404")
    try input.write("pause 1")
    try await child.line("1 paused")
    try input.write("resume 1")
    try await child.line("1 running", 2)
    _ = try await place.origin.log.first("a request for the rest") { log in
      log.exchanges.last?.request[field: "Range"]
    }
    try input.write("cap 1")
    try await child.line("at most 1 at a time")
    try input.write("add \(urls("b")[0])")
    try await child.line("5 waiting")
    try input.write("resume 4")
    try await child.line("6 waiting")
    try input.write("list")
    try await child.line("5 waiting 0 bytes \(urls("b")[0])")
    try input.write("quit")
    #expect(try await child.exit() == .code(0))
    let left = try place.names
    #expect(left.map { $0.prefix(7) } == [".slow1.", "a", "downloa"], "\(left)")

    let second = try await place.start("Manager", [place.directory.path], input: input.path)
    try await second.line("1 running")
    place.gate.open()
    try await second.line("1 complete")
    try await second.line("2 complete")
    try await second.line("3 ended")
    try input.write("remove 3")
    try await second.line("3 removed")
    second.signal(SIGINT)
    #expect(try await second.exit() == .code(0))
    for name in ["a", "b", "slow1"] { try place.expectComplete(name) }
    #expect(try place.names == ["a", "b", "downloads.json", "slow1"])
    #expect(place.ranges(of: "/slow1") == ["-", ExamplePlace.rest, ExamplePlace.rest])
  }

  // MARK: - Bars

  @Test func `Bars prints lines into a pipe, and continues after an interruption`() async throws {
    let arguments = [place.directory.path] + urls("slow1", "slow2", "a")
    let child = try await place.start("Bars", arguments)
    for line in ["slow1: 50 %", "slow2: 50 %", "a: complete, 300000 bytes"] {
      try await child.line(line)
    }
    child.signal(SIGINT)
    let output = try await child.result()
    #expect(output.exit == .code(1))
    #expect(output.standardOutput.contains("slow1: paused, 150000 of 300000 bytes kept"))
    #expect(!output.standardOutput.contains { $0.contains("\u{1B}") })
    place.gate.open()
    #expect(try await place.run("Bars", arguments).exit == .code(0))
    #expect(try place.names == ["a", "slow1", "slow2"])
    for name in ["a", "slow1", "slow2"] { try place.expectComplete(name) }
    for name in ["/slow1", "/slow2"] {
      #expect(place.ranges(of: name) == ["-", ExamplePlace.rest])
    }
  }

  @Test func `Bars redraws bars in place on a terminal`() async throws {
    let screen = try await TerminalScreen.shell(
      columns: 80, rows: 12,
      environment: [
        "ALLOW": "127.0.0.0/8", "BARS": ExamplePrograms.path("Bars"),
        "FILES": place.directory.path, "ONE": urls("slow1")[0], "TWO": urls("slow2")[0],
      ])
    try await screen.type("$BARS $FILES $ONE $TWO", "Enter")
    let bar = "[###############---------------]  50 %"
    try await screen.wait(for: "two bars") { content in
      content.rows.suffix(2).map { $0.prefix(7 + bar.count) } == ["slow1: \(bar)", "slow2: \(bar)"]
        && content.rows.count { $0.contains("[") } == 2
    }
    try await screen.type("C-c")
    let paused = "paused, 150000 of 300000 bytes kept"
    let content = try await screen.prompt()
    #expect(content.rows.dropLast().suffix(2) == ["slow1: \(paused)", "slow2: \(paused)"])
    place.gate.open()
    try await screen.type("$BARS $FILES $ONE $TWO", "Enter")
    let complete = "complete, 300000 bytes"
    try await screen.wait(for: "two complete files") { content in
      content.rows.dropLast().suffix(2) == ["slow1: \(complete)", "slow2: \(complete)"]
    }
    #expect(try place.names == ["slow1", "slow2"])
  }

  // MARK: - Session

  @Test func `Session calls its delegate, and continues at an offset`() async throws {
    let arguments = urls("slow") + [place.directory.path("file")]
    let child = try await place.start("Session", arguments)
    let halfway = try await child.first("the half") { output in
      output.standardOutput.first { $0.hasSuffix(": 150000 of 300000") }
    }
    #expect(halfway.hasPrefix("wrote "))
    child.signal(SIGINT)
    let output = try await child.result()
    #expect(output.exit == .code(1))
    #expect(output.standardOutput.last == "failed: cancelled: the download was cancelled")
    #expect(output.standardOutput.contains { $0.hasSuffix(" bytes of resume data") })
    #expect(try place.names.contains("file.resume"))
    place.gate.open()
    let second = try await place.run("Session", arguments)
    #expect(second.exit == .code(0))
    #expect(second.standardOutput.first == "resumed at 150000 of 300000")
    #expect(second.standardOutput.last == "complete")
    #expect(try place.names == ["file"])
    try place.expectComplete("file")
    #expect(place.ranges(of: "/slow") == ["-", ExamplePlace.rest])
  }

  // MARK: - Stream

  @Test func `Stream shows redirects, responses, retries and the result`() async throws {
    let path = place.directory.path("file")
    let output = try await place.run(
      "Stream", ["--type", "application/octet-stream"] + urls("moved") + [path])
    #expect(output.exit == .code(0))
    let (from, to) = (urls("moved")[0], urls("busy")[0])
    for line in [
      "redirected from \(from) to \(to)", "response 200 from \(to)", "  Content-Length: 300000",
      "300000 of 300000 bytes, 0 a second", "complete: \(path), 300000 bytes",
    ] {
      #expect(output.standardOutput.contains(line), "\(line)")
    }
    #expect(
      output.standardOutput.contains { $0.hasSuffix(": http5xx: the server answered 503") })
    try place.expectComplete("file")
  }

  @Test func `Stream refuses another type of content`() async throws {
    let output = try await place.run(
      "Stream", ["--type", "text/html"] + urls("a") + [place.directory.path("file")])
    #expect(output.exit == .code(1))
    #expect(
      output.standardOutput.last == "failed: the type is application/octet-stream, not text/html")
    #expect(try place.names == [])
  }

  @Test func `Stream sends a POST`() async throws {
    let path = place.directory.path("file")
    let output = try await place.run("Stream", ["--post", "to export"] + urls("echo") + [path])
    #expect(output.exit == .code(0))
    #expect(try String(contentsOfFile: path, encoding: .utf8) == "to export")
    #expect(place.origin.log.value.exchanges.map(\.request.method) == ["POST"])
  }

  // MARK: - Tested

  @Test func `Tested passes with its fake, and does the same with an origin`() async throws {
    let output = try await place.run("Tested", [])
    #expect(output.exit == .code(0))
    #expect(output.standardOutput.count == 5)
    #expect(output.standardOutput.allSatisfy { $0.hasPrefix("ok: ") })
    let real = try await place.run(
      "Tested", [place.directory.path, "http://\(place.origin.host)", "a", "none"])
    #expect(real.exit == .code(1))
    #expect(real.standardOutput == ["complete [\"a\"], missing [\"none\"], failed [:]"])
    try place.expectComplete("a")
  }
}
