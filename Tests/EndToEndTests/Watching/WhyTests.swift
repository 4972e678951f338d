import Foundation
import Postgres
import TestSupport
import Testing

/// What 'haul why' answers to somebody whose jobs do not start.
@Suite struct WhyTests {
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
      let store: String = try await pool.value(
        "SELECT store FROM haul.queues WHERE queue = 'default'")
      #expect(
        try await why("--batch", "b")
          == "3 jobs do not run: 3 queued. No worker serves the queue default; start one with: haul worker --store \(store)=DIRECTORY."
      )
      try await pool.command("pause", "--host", "h1.test")
      #expect(
        try await why("--host", "h1.test")
          == "1 job does not run: 1 paused. All that is left is paused; let it go on with: haul resume --host h1.test."
      )
      #expect(try await why("1").contains("haul resume 1."))
      #expect(
        try await why("--queue", "default").contains(
          "Paused jobs go on with: haul resume --queue default."))
      let worker = try pool.worker()
      try await pool.command("host", "block", "h2.test")
      try await pool.command("queue", "pause", "default")
      try await eventually("the worker to be there") {
        try await pool.value("SELECT count(*) FROM haul.workers WHERE state = 'alive'") == 1
      }
      #expect(try await why("--batch", "b").contains("haul queue resume default"))
      try await worker.drain()
      try await pool.command("cancel", "--batch", "b")
      #expect(try await why("--batch", "b") == "All of these jobs have ended.")
      let object = try await pool.command("why", "--batch", "b", "--json")
      #expect(
        object == [#"{"jobs":0,"running":0,"failed":0,"obstacle":null,"reason":null}"#])
      #expect(try await why() == "No job is left to do.")
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
      try await pool.command("submit", origin.url("/a"), "--batch", "b")
      #expect(try await why().hasPrefix("1 job does not run: 1 queued. No worker serves"))
      try await pool.command("pause", "--batch", "b")
      #expect(
        try await why()
          == "1 job does not run: 1 paused. All that is left is paused; see: haul jobs --state paused."
      )
      try await pool.command("resume", "--batch", "b")
      let worker = try pool.worker("--exit-when-idle")
      #expect(try await worker.exit() == .code(0))
      let sentence =
        "1 job failed: 'haul failures' says why, and 'haul retry --batch b' tries again."
      #expect(try await why("--batch", "b") == "All of these jobs have ended. \(sentence)")
      #expect(
        try await why().hasPrefix("No job is left to do. 1 job failed: 'haul failures' says why"))
    }
  }

  @Test func `a job that runs, and bad input`() async throws {
    try await HaulPool.open { pool in
      let file = try GatedFile()
      let worker = try pool.worker()
      let job = try await file.submit(to: pool)
      _ = try await file.checkpoint(worker)
      #expect(try await pool.command("why", "\(job)") == ["1 job runs."])
      file.gate.open()
      try await pool.wait(for: job, toBe: "completed")
      try await worker.drain()
      #expect(try await pool.haul(["why", "99"]).exit == .code(65))
    }
  }
}
