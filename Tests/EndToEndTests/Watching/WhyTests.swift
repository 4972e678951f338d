import Foundation
import Postgres
import TestSupport
import Testing

/// What 'haul why' answers to somebody whose jobs do not start.
@Suite struct WhyTests {
  /// Waits until `haul why` prints this: on a slow machine a worker may be silent for a moment.
  private static func wait(
    for lines: [String], of arguments: [String], _ pool: HaulPool
  ) async throws {
    try await eventually("haul why to print \(lines)") {
      try await pool.haul(["why"] + arguments).standardOutput == lines
    }
  }

  @Test func `each obstacle in a sentence, with what to type`() async throws {
    try await HaulPool.open { pool in
      for number in 1...3 {
        try await pool.command(
          "submit", "http://h\(number).test/a", "--out", "\(number)", "--batch", "b")
      }
      func why(_ arguments: String...) async throws -> String {
        let output = try await pool.haul(["why"] + arguments)
        #expect(output.exit == .code(0), "\(output)")
        return output.standardOutput.joined(separator: "\n")
      }
      let store: String = try await pool.value("SELECT store || '=' || root FROM haul.stores")
      let unserved =
        "No worker serves the queue default. Start one with: haul worker --store \(store)"
      #expect(
        try await why("--batch", "b")
          == """
          3 jobs do not run: 3 queued.
          3 jobs: \(unserved)
          """
      )
      try await pool.command("pause", "--host", "h1.test")
      #expect(
        try await why("--host", "h1.test")
          == """
          1 job does not run: 1 paused.
          1 job: \(unserved)
          1 job: These jobs of the batch b are paused. Resume them with: haul resume --batch b --host h1.test
          """
      )
      #expect(try await why("1").hasSuffix("This job is paused. Resume it with: haul resume 1"))
      #expect(
        try await why("--queue", "default").hasSuffix("haul resume --batch b --queue default"))
      // Somebody has paused a part of it.
      #expect(
        try await why().hasSuffix(
          "List them with 'haul jobs --state paused --batch b'. Resume them with: haul resume --batch b"
        ))
      let worker = try pool.worker()
      try await pool.command("host", "block", "h2.test")
      try await pool.command("queue", "pause", "default")
      try await eventually("the worker to be there") {
        try await pool.value("SELECT count(*) FROM haul.workers WHERE state = 'alive'") == 1
      }
      #expect(try await why("--batch", "b").contains("haul queue resume default"))
      try await worker.drain()
      try await pool.command("cancel", "--batch", "b")
      #expect(
        try await why("--batch", "b")
          == "All of these jobs have ended: 3 cancelled. 'haul cancel --undo --batch b' queues the cancelled jobs again."
      )
      let object = try await pool.command("why", "--batch", "b", "--json")
      #expect(
        object == [
          #"{"jobs":0,"running":0,"failed":0,"obstacle":null,"reason":null,"causes":[]}"#
        ])
      let all = try await why()
      #expect(all.contains(/^All jobs in the pool .+ at .+ have ended: 3 cancelled\./), "\(all)")
    }
  }

  @Test func `without selectors the whole pool counts, and failures are named`() async throws {
    try await HaulPool.open { pool in
      func why(_ arguments: String...) async throws -> String {
        try await pool.haul(["why"] + arguments).standardOutput.joined(separator: "\n")
      }
      let origin = try OriginServer { _, reply in
        try reply.head("HTTP/1.1 404 Not Found\nContent-Length: 0")
      }
      let empty = try await why()
      #expect(empty.contains(/^There are no jobs in the pool .+ at .+\.$/), "\(empty)")
      try await pool.command("submit", origin.url("/a"), "--batch", "b")
      let root: String = try await pool.value("SELECT root FROM haul.stores")
      let unserved =
        "No worker serves the queue default. Start one with: haul worker --store data=\(root) --allow-net 127.0.0.1"
      // As 'haul submit' prints it: a worker without this would fail the job.
      #expect(
        try await why().hasSuffix(unserved))
      #expect(
        try await pool.command("batch", "show", "b").joined().hasSuffix(" --allow-net 127.0.0.1"))
      let check = try await pool.haul(["check"])
      #expect(
        check.standardOutput.contains {
          $0.hasSuffix("haul worker --store data=\(root) --allow-net 127.0.0.1")
        }, "\(check)")
      try await pool.command("pause", "--batch", "b")
      #expect(
        try await why()
          == """
          1 job does not run: 1 paused.
          1 job: \(unserved)
          1 job: The batch b is paused. Resume it with: haul resume --batch b
          """
      )
      let object = try #require(try await pool.command("why", "--json").first)
      #expect(
        object.contains(
          #"{"kind":"held","jobs":1,"sentence":"The batch b is paused.","command":"haul resume --batch b"}]"#
        ), "\(object)")
      try await pool.command("resume", "--batch", "b")
      let worker = try pool.worker("--exit-when-idle")
      #expect(try await worker.exit() == .code(0))
      let sentence =
        "'haul failures' shows why 1 job failed, and 'haul retry --batch b' retries it."
      #expect(
        try await why("--batch", "b") == "All of these jobs have ended: 1 failed. \(sentence)")
      #expect(
        try await why().contains(" have ended: 1 failed. 'haul failures' shows why 1 job failed"))
    }
  }

  @Test func `a job that runs, and bad input`() async throws {
    try await HaulPool.open { pool in
      let file = try GatedFile()
      let worker = try pool.worker()
      let job = try await file.submit(to: pool)
      _ = try await file.checkpoint(worker)
      try await Self.wait(for: ["1 job runs."], of: ["\(job)"], pool)
      file.gate.open()
      try await pool.wait(for: job, toBe: "completed")
      try await worker.drain()
      #expect(try await pool.haul(["why", "99"]).exit == .code(65))
    }
  }

  @Test func `a silent worker is told, and what to start instead of it`() async throws {
    try await HaulPool.open { pool in
      let file = try GatedFile()
      let worker = try pool.worker()
      let job = try await file.submit(to: pool)
      _ = try await file.checkpoint(worker)
      let number = try await worker.workerNumber()
      try await worker.stop()
      try await pool.admin.execute(
        """
        UPDATE haul.worker SET expires_at = clock_timestamp() + interval '1 hour',
          heartbeat_at = clock_timestamp() - interval '10 seconds' WHERE id = $1
        """, [number])
      let lines = try await pool.command("why", "\(job)")
      #expect(lines.count == 2 && lines.first == "1 job runs.", "\(lines)")
      #expect(
        lines.last?.contains(
          /^1 job: Worker \d+ \(.+, pid \d+\) has sent no heartbeat for .+, and no other worker can take over its jobs\. If this worker does not come back, start another worker with: haul worker --store/
        ) == true, "\(lines)")
      worker.wake()
      file.gate.open()
      try await pool.wait(for: job, toBe: "completed")
      try await worker.drain()
    }
  }

  @Test func `a batch whose lines are all in another says so`() async throws {
    try await HaulPool.open { pool in
      for batch in ["first", "second"] {
        try await pool.command("submit", "http://h.test/a", "--batch", batch)
      }
      let text =
        "The batch second has no jobs of its own: its URLs may already have jobs in another batch. List batches with: haul batches"
      #expect(try await pool.command("why", "--batch", "second") == [text])
    }
  }

  @Test func `a host that is full of their own, and a batch that is paused in part`() async throws {
    try await HaulPool.open { pool in
      let file = try GatedFile()
      let worker = try pool.worker()
      let host = "127.0.0.1:\(file.origin.port)"
      try await pool.command("host", "set", host, "--cap", "1")
      try await pool.command("submit", file.origin.url("/file"), "--batch", "b", "--out", "file")
      _ = try await file.checkpoint(worker)
      try await pool.command("submit", file.origin.url("/small/1"), "--batch", "b")
      try await Self.wait(
        for: [
          "1 job runs. 1 job does not run: 1 queued.",
          "1 job: The host \(host) already has 1 of 1 transfer in progress (1 of this batch). Raise the limit with: haul host set \(host) --cap N",
        ], of: ["--batch", "b"], pool)
      // What runs is not said to be paused.
      try await pool.command("pause", "--batch", "b", "--state", "queued")
      try await Self.wait(
        for: [
          "1 job runs. 1 job does not run: 1 paused.",
          "1 job: Some jobs of the batch b are paused. List them with 'haul jobs --state paused --batch b'. Resume them with: haul resume --batch b",
        ], of: [], pool)
      file.gate.open()
      try await worker.drain()
    }
  }

  @Test func `a job that is tried again says what failed, when it is tried and how often`()
    async throws
  {
    try await HaulPool.open { pool in
      let origin = try OriginServer { _, reply in
        try reply.head("HTTP/1.1 503 Busy\nContent-Length: 0\nRetry-After: 3600")
      }
      let worker = try pool.worker()
      try await pool.command("submit", origin.url("/a"), "--out", "a")
      try await pool.wait(for: 1, toBe: "scheduled")
      let lines = try await pool.command("why")
      #expect(lines.first == "1 job does not run: 1 scheduled.")
      #expect(
        lines.last?.contains(
          /^1 job: The last attempt failed with rate_limited. The next attempt is in \w+. Failures of the host or of the worker do not count/
        ) == true, "\(lines)")
      let job = try await pool.command("job", "1")
      #expect(
        job.contains { $0.contains(/^ATTEMPTS +0 of 5, and 1 that does not count$/) },
        "\(job)")
      #expect(
        job.contains { $0.hasSuffix(" (not counted: the host had a problem)") }, "\(job)")
      // The advice stands beside it.
      try await eventually("the report to say how long it is tried") {
        try await pool.command("job", "1").contains {
          $0.contains(/^DOES NOT START .* But the job fails if these failures last for 1d\w*$/)
        }
      }
      try await worker.drain()
    }
  }

  @Test func `a queue whose only worker cannot write is warned of, and told once`() async throws {
    try await HaulPool.open { pool in
      let worker = try pool.worker("--queue", "default")
      let number = try await worker.workerNumber()
      try await pool.command("submit", "http://h.test/a", "--not-before", "1h")
      // So that it neither claims nor looks at its store again.
      try await worker.stop()
      try await pool.admin.execute(
        """
        UPDATE haul.worker w SET expires_at = clock_timestamp() + interval '1 hour',
          closed_stores = jsonb_build_object(w.instances[1]::text, 'is the share mounted?') WHERE w.id = $1
        """, [number])
      try await pool.command("queue", "pause", "data")
      let check = try await pool.haul(["check"])
      let queues = check.standardOutput.filter { $0.contains("default") && $0.hasPrefix("warn ") }
      #expect(queues.count == 1, "\(check)")
      #expect(
        queues.first?.contains(
          /default: 1 waiting job, 1 live worker. No live worker of the queue can write to the store: worker .*: data: is the share mounted\?$/
        ) == true, "\(check)")
      #expect(
        try await pool.command("why").contains {
          $0.hasSuffix(
            "data: is the share mounted? Repair the store, then check the worker with: haul workers"
          )
        })
      worker.wake()
      try await worker.drain()
    }
  }
}
