import Postgres
import TestSupport
import Testing

/// How long a source may keep a job waiting, as its queue or its submission says.
@Suite struct TimeoutTests {
  @Test(arguments: [true, false])
  func `a source that says nothing is given up`(isQueues: Bool) async throws {
    let never = Gate("never opened while the job runs")
    let origin = try OriginServer { _, reply in try reply.wait(for: never) }
    try await HaulPool.open { pool in
      if isQueues {
        try await pool.command(
          "queue", "set", "data", "--stall-timeout", "1s", "--connect-timeout", "2500ms")
        let queues = try await pool.command("queues", "--json")
        #expect(
          queues.contains { $0.contains(#""defaults":{"connect_timeout":3,"stall_timeout":1}"#) })
        #expect(
          try await pool.command("queues").contains("      connect_timeout 3, stall_timeout 1"))
      }
      let options = isQueues ? [] : ["--stall-timeout", "1s", "--connect-timeout", "2500ms"]
      let submitted = try await pool.haul(
        ["submit", origin.url("/f"), "--queue", "data", "--max-attempts", "1"] + options)
      #expect(submitted.exit == .code(0))
      let job = try #require(try await pool.command("job", "1", "--json").first)
      #expect(
        job.contains(#""options":{"connect_timeout":3,"max_attempts":1,"stall_timeout":1}"#),
        "\(job)")
      #expect(
        try await pool.command("job", "1").contains {
          $0.wholeMatch(of: /OPTIONS +connect_timeout 3, max_attempts 1, stall_timeout 1/) != nil
        })
      let worker = try pool.worker()
      try await pool.wait(for: 1, toBe: "failed")
      #expect(try await pool.value("SELECT error FROM haul.jobs") == "timeout")
      #expect(
        try await pool.value("SELECT message FROM haul.jobs")
          == "the server did not answer within 1.0 seconds")
      never.open()
      try await pool.stop(worker)
    }
  }

  @Test func `an answer of no takes back what the queue says`() async throws {
    try await HaulPool.open { pool in
      try await pool.command(
        "queue", "set", "data", "--no-record-digest", "no", "--remote-time", "yes")
      try await pool.command(
        "submit", "http://h/a", "--queue", "data", "--no-record-digest", "--remote-time=no")
      try await pool.command("submit", "http://h/b", "--queue", "data", "--no-record-digest=no")
      #expect(
        try await pool.values("SELECT options ->> 'record_digest' FROM haul.job ORDER BY id")
          == ["false", "true"])
      #expect(
        try await pool.values("SELECT options ->> 'remote_time' FROM haul.job ORDER BY id")
          == ["false", "true"])
      let refused = try await pool.haul(["submit", "http://h/c", "--no-record-digest=perhaps"])
      #expect(refused.exit == .code(64))
    }
  }
}
