import Glibc
import TestSupport
import Testing

/// Programs started by tests: their log as events, signals, and what a time-out tells.
@Suite struct HaulProcessTests {
  private func shell(_ script: String) throws -> HaulProcess {
    try HaulProcess(["-c", script], program: "/bin/sh")
  }

  @Test func `the built program is found`() {
    #expect(access(HaulProcess.path, X_OK) == 0)
  }

  @Test func `events are found by name and field, before and after the wait began`() async throws {
    let process = try shell(
      """
      echo 'not JSON' >&2
      for job in 1 2; do echo '{"event":"job.started","job":'$job',"late":false}' >&2; done
      exec sleep 1000
      """)
    let first = try await process.event("job.started")
    #expect(first[field: "job"] == "1")
    #expect(first[field: "late"] == "false")
    #expect(try await process.event("job.started", after: first)[field: "job"] == "2")
    #expect(try await process.event("job.started") { $0[field: "job"] == "2" }.index == 2)
    #expect(process.events("job.started").count == 2)
    process.signal(SIGKILL)
    #expect(try await process.exit() == .signal(SIGKILL))
  }

  @Test func `a time-out shows the end of the log`() async throws {
    let process = try shell("echo 'last words' >&2; exit 3")
    #expect(try await process.exit() == .code(3))
    _ = try await process.child.result()
    let error = await #expect(throws: TimedOut.self) {
      try await process.event("job.started", within: .zero)
    }
    #expect(error?.description.contains("code(3)") == true)
    #expect(error?.description.contains("last words") == true)
  }

  @Test func `nothing is left of a program and what it started`() async throws {
    let started = try await {
      let process = try shell("sleep 1000 & echo '{\"event\":\"started\",\"pid\":'$!'}' >&2; wait")
      let event = try await process.event("started")
      return (process.child.pid, try #require(event[field: "pid"].flatMap { Int32($0) }))
    }()
    try await eventually("both processes to be gone") {
      kill(started.0, 0) != 0 && kill(started.1, 0) != 0
    }
  }

  @Test func `a program gets its environment and its directory`() async throws {
    let directory = try TemporaryDirectory()
    let output = try await ChildProcess.run(
      "sh", ["-c", "echo $MARK; pwd"], environment: ["MARK": "here"], directory: directory.path)
    #expect(output.standardOutput == ["here", directory.path])
  }
}
