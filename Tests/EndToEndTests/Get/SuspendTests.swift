import TestSupport
import Testing

/// Ctrl-Z in a terminal, and what may follow. The prompt of the shell differs for root.
@Suite(.serialized) struct SuspendTests {
  /// `haul get` of a file that stops half-way, suspended by its user in a shell.
  private func withSuspended(
    _ body: (GetPlace, GatedFile, TerminalScreen) async throws -> Void
  ) async throws {
    let (place, file) = (try await GetPlace(), try GatedFile())
    let screen = try await TerminalScreen.shell(
      columns: 80, rows: 24,
      environment: [
        "HAUL": HaulProcess.path, "HAUL_STATE_DIR": place.state, "FILES": place.directory,
        "URL": file.origin.url("/file"),
      ])
    try await screen.type("$HAUL get -d $FILES $URL", "Enter")
    try await halfIsShown(screen)
    try await screen.type("C-z")
    let stopped = try await screen.wait(for: "word of the shell") { content in
      content.rows.contains { $0.contains("Stopped") } && ["$", "#"].contains(content.rows.last)
    }
    #expect(!stopped.rows.contains { $0.contains("%") }, "\(stopped)")
    try await body(place, file, screen)
  }

  /// The two lines of the file stand below everything else.
  private func halfIsShown(_ screen: TerminalScreen) async throws {
    try await screen.wait(for: "half of the file") { content in
      let bars = content.rows.suffix(2)
      return bars.count == 2 && bars.allSatisfy { $0.contains(" 50% ") }
        && content.cursorRow == content.rows.count
    }
  }

  private func end(_ screen: TerminalScreen) async throws -> TerminalScreen.Content {
    try await screen.wait(for: "the end") { content in
      content.rows.contains { $0.hasPrefix("1 file, 8.0 MiB in ") }
        && ["$", "#"].contains(content.rows.last)
    }
  }

  @Test func `in the foreground again it goes on below what the shell has written`() async throws {
    try await withSuspended { place, file, screen in
      try await screen.type("echo between", "Enter")
      try await screen.wait(for: "its output") { $0.rows.contains("between") }
      try await screen.type("fg", "Enter")
      try await halfIsShown(screen)
      file.gate.open()
      let end = try await end(screen)
      #expect(end.rows.contains("between"))
      #expect(!end.rows.contains { $0.contains("%") }, "\(end)")
      #expect(!end.rows.contains { $0.hasPrefix("haul get: ") }, "\(end)")
      #expect(try file.firstDifference(in: place.directory) == nil)
    }
  }

  @Test func `in the background it draws nothing, and ends`() async throws {
    try await withSuspended { place, file, screen in
      try await screen.type("bg", "Enter")
      file.gate.open()
      let end = try await screen.wait(for: "the result") { content in
        content.rows.contains { $0.contains("1 file, 8.0 MiB in ") }
      }
      #expect(!end.rows.contains { $0.contains("%") }, "\(end)")
      #expect(try file.firstDifference(in: place.directory) == nil)
    }
  }

  @Test func `a pool in a terminal stands still, and goes on with what it transferred`()
    async throws
  {
    let (place, file) = (try await GetPlace(), try GatedFile())
    let screen = try await TerminalScreen.shell(
      columns: 200, rows: 50,
      environment: [
        "HAUL": HaulProcess.path, "HAUL_STATE_DIR": place.state, "FILES": place.directory,
      ])
    try await screen.type("$HAUL up --store $FILES --allow-net 127.0.0.0/8", "Enter")
    try await screen.wait(for: "a worker") { content in
      content.rows.contains { $0.contains("worker.started") }
    }
    let submitted = try await ChildProcess.run(
      HaulProcess.path, ["submit", file.origin.url("/file"), "--out", "file"],
      environment: ["HAUL_STATE_DIR": place.state])
    #expect(submitted.exit == .code(0))
    try await file.origin.sent(GatedFile.half)
    try await screen.type("C-z")
    try await screen.wait(for: "word of the shell") { content in
      content.rows.contains { $0.contains("worker.suspended") }
        && content.rows.contains { $0.contains("Stopped") }
        && ["$", "#"].contains(content.rows.last)
    }
    let jobs = try await ChildProcess.run(
      HaulProcess.path, ["jobs", "--json"], environment: ["HAUL_STATE_DIR": place.state])
    #expect(jobs.standardOutput.first?.contains(#""state":"running""#) == true)
    try await screen.type("fg", "Enter")
    file.gate.open()
    try await screen.wait(for: "the file") { content in
      content.rows.contains { $0.contains("job.completed") }
    }
    #expect(try file.firstDifference(in: place.directory) == nil)
    try await screen.type("C-c")
    try await screen.wait(for: "the end") { ["$", "#"].contains($0.rows.last) }
  }
}
