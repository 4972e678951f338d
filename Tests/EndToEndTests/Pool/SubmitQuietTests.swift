import Foundation
import TestSupport
import Testing

/// What `haul submit` tells scripts, and of jobs that it takes from others.
struct SubmitQuietTests {
  @Test func `-q prints the batch, or the first and the last id`() async throws {
    try await HaulPool.open { pool in
      let first = try await pool.haul(["submit", "-q", "http://h/a", "http://h/b", "http://h/c"])
      #expect(first.standardOutput == ["1 3"] && first.notices == [])
      #expect(try await pool.command("submit", "-q", "http://h/b") == ["2 2"])
      #expect(
        try await pool.command("submit", "-q", "http://h/b", "http://h/new", "--batch", "films")
          == ["films"])
      let object = try await pool.command("submit", "-q", "http://h/c", "--json")
      #expect(object.first?.contains(#""batch":null,"first_job":3,"last_job":3"#) == true)
      let replaced = try await pool.command(
        "submit", "-q", "http://h/a", "http://h/last", "--on-duplicate", "replace")
      let last: Int = try await pool.value("SELECT max(id) FROM haul.job")
      #expect(replaced == ["1 \(last)"])
    }
  }

  @Test func `submit says that others of the batch or the queue are paused`() async throws {
    try await HaulPool.open { pool in
      try await pool.command("submit", "http://h/a", "--batch", "films")
      try await pool.command("pause", "--batch", "films")
      // -q does not hide it.
      for url in [["http://h/b"], ["-q", "http://h/c"]] {
        let beside = try await pool.haul(["submit", "--batch", "films"] + url)
        #expect(
          beside.notices == [
            "haul submit: 1 job of the batch films is paused. The jobs that you have just submitted are not paused. To pause them too, run: haul pause --batch films"
          ])
      }
      let queue: String = try await pool.value("SELECT queue FROM haul.jobs LIMIT 1")
      try await pool.command("queue", "pause", queue)
      for url in [["http://h/d"], ["-q", "http://h/e"]] {
        let waiting = try await pool.haul(["submit", "--batch", "films"] + url)
        #expect(
          waiting.standardError.first
            == "haul submit: the queue \(queue) is paused. Resume it with: haul queue resume \(queue)"
        )
      }
    }
  }

  @Test func `-q does not hide that no worker can fetch the jobs`() async throws {
    try await HaulPool.open { pool in
      let command = ["submit", "-q", "--not-before", "1h"]
      let unserved = try await pool.haul(command + ["http://h/a"])
      #expect(unserved.standardOutput == ["1 1"])
      #expect(unserved.standardError.count == 1)
      #expect(unserved.standardError.first?.contains("no worker serves the queue") == true)
      let worker = try pool.worker()
      try await worker.event("worker.started")
      let refused = try await pool.haul(command + ["ftp://h/b"])
      #expect(
        refused.standardError == [
          "haul submit: no worker of the queue default downloads ftp URLs, so these jobs will fail. Start a worker with --allow-scheme ftp"
        ])
      try await pool.stop(worker)
    }
  }

  @Test func `-q --wait prints nothing more on success`() async throws {
    try await HaulPool.open { pool in
      let origin = try OriginServer(handler: Site(["/a": .init(seed: 1, length: 10)]).answer)
      let waiting = try pool.start(
        ["submit", "-q", origin.url("/a"), "--batch", "films", "--wait"])
      _ = try await waiting.child.first("the name") { $0.standardOutput.first }
      #expect(try await pool.worker("--exit-when-idle").exit() == .code(0))
      let output = try await waiting.child.result()
      #expect(output.exit == .code(0))
      #expect(output.standardOutput == ["films"] && output.notices == [])
    }
  }

  @Test func `replace says how many jobs it moves out of which batches`() async throws {
    try await HaulPool.open { pool in
      try await pool.command("submit", "http://h/a", "http://h/b", "--batch", "monday")
      try await pool.command("submit", "http://h/c", "--batch", "tuesday")
      try await pool.command("submit", "http://h/d", "--batch", "films")
      let all = ["http://h/a", "http://h/b", "http://h/c", "http://h/d", "http://h/e"]
      let command = ["submit", "--batch", "films", "--on-duplicate", "replace"]
      let output = try await pool.haul(command + all)
      #expect(
        output.notices == [
          "haul submit: --on-duplicate replace moved 3 jobs out of other batches: 2 from monday and 1 from tuesday"
        ])
      #expect(try await pool.haul(command + all).notices == [])
      // -q does not hide that jobs leave a batch.
      let quiet = try await pool.haul(
        ["submit", "-q", "--batch", "new", "--on-duplicate", "replace", "http://h/d"])
      #expect(quiet.standardOutput == ["new"])
      #expect(
        quiet.notices == [
          "haul submit: --on-duplicate replace moved 1 job out of other batches: 1 from films"
        ])
      let object = try await pool.haul([
        "submit", "--on-duplicate", "replace", "--json", "http://h/a",
      ])
      #expect(
        object.standardOutput.first?.contains(#""moved":[{"batch":"films","jobs":1}]"#) == true)
    }
  }
}
