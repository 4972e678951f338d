import Foundation
import Postgres
import TestSupport
import Testing

/// Queues, hosts, priorities and batches by the commands of the program.
struct SteerTests {
  @Test func `a host is set, blocked and unblocked, and its list says why it starts nothing`()
    async throws
  {
    try await HaulPool.open { pool in
      try await pool.command("submit", "http://h/a", "http://h/b", "http://other/a")
      #expect(
        try await pool.command(
          "host", "set", "h", "--cap", "8", "--interval", "1500ms", "--burst", "3")
          == [
            "h: at most 8 transfers at the same time, 1s500ms between starts, up to 3 starts together after a time without starts"
          ])
      #expect(
        try await pool.command("host", "set", "h", "--interval", "2s") == ["h: 2s between starts"])
      #expect(
        try await pool.command("host", "policies") == [
          "PATTERN  CAP  INTERVAL  BURST  HOSTS", "h          8        2s      3      1",
        ])
      // The interval may have been set before.
      for (host, notes) in [
        ("h", []),
        (
          "other", ["haul host set: a burst has no effect without an interval. Give --interval too"]
        ),
      ] {
        let output = try await pool.haul(["host", "set", host, "--burst", "3"])
        #expect(
          output.standardOutput == [
            "\(host): up to 3 starts together after a time without starts"
          ])
        #expect(output.standardError == notes)
      }
      try await pool.command("host", "unset", "other")
      try await pool.admin.execute("UPDATE haul.host SET cap = 2 WHERE name = 'h'")
      #expect(
        try await pool.command("host", "block", "h", "--for", "2h") == ["h: blocked for 2h"])
      let list = try await pool.command("hosts")
      #expect(
        list[...1] == [
          "HOST   RUNNING     CAP  INTERVAL  WAITING  IDLE",
          "h            0  2 of 8        2s  yes      blocked",
        ])
      #expect(list[2].hasPrefix("      blocked by an operator until 20"))
      // No worker runs: what waits for the other host waits for one.
      #expect(list[3] == "other        0       4         -  yes      unserved")
      try await pool.command("host", "block", "h")
      #expect(
        try await pool.command("hosts")[2]
          == "      blocked by an operator until you run 'haul host unblock'"
      )
      let object = try #require(try await pool.command("hosts", "--json").first)
      for member in [
        #""cap":2"#, #""policy_cap":8"#, #""min_interval":2.0"#, #""burst":3"#,
        #""blocked_until":"infinity""#, #""block_reason":"operator""#,
      ] { #expect(object.contains(member), "\(member): \(object)") }
      #expect(try await pool.command("host", "unblock", "h") == ["h: unblocked"])
      #expect(try await pool.command("hosts").count == 3)
    }
  }

  @Test func `a queue is made, set, paused, resumed and deleted`() async throws {
    try await HaulPool.open { pool in
      try await pool.command("queue", "create", "music", "--store", "data")
      #expect(
        try await pool.command(
          "queue", "set", "music", "--max-running", "10", "--weight", "3", "--max-attempts", "9",
          "--if-exists", "replace", "--no-record-digest", "no", "--max-bytes", "1GiB",
          "--limit-rate-per-file",
          "1MiB") == [
            "queue music: at most 10 jobs at the same time, weight 3, if_exists \"replace\", max_attempts 9, max_bytes 1073741824, max_rate 1048576, record_digest true"
          ])
      #expect(
        try await pool.command(
          "queue", "set", "music", "--max-bytes", "none", "--limit-rate-per-file", "none",
          "--remote-time",
          "no", "--json") == [
            #"{"queue":"music","defaults":{"max_bytes":null,"max_rate":null,"remote_time":false}}"#
          ])
      #expect(
        try await pool.command("queue", "set", "default", "--max-running", "none") == [
          "queue default: no limit"
        ])
      #expect(
        try await pool.command("queue", "pause", "music")
          == ["queue music is paused; running jobs continue"])
      let list = try await pool.command("queues")
      let row = try #require(list.firstIndex { $0.hasPrefix("music") })
      #expect(list[row].contains(" 0 of 10 ") && list[row].contains(" yes "))
      #expect(
        list[row + 1]
          == "      weight 3, if_exists \"replace\", max_attempts 9, record_digest true, remote_time false"
      )
      #expect(try await pool.command("queue", "resume", "music") == ["queue music is resumed"])
      try await pool.command("submit", "http://h/a", "--queue", "music", "--max-attempts", "2")
      let options: String = try await pool.value("SELECT options::text FROM haul.job")
      #expect(
        options.contains(#""max_attempts": 2"#) && options.contains(#""if_exists": "replace""#))
      let refused = try await pool.haul(["queue", "delete", "music"])
      #expect(refused.exit == .code(65))
      #expect(
        refused.standardError == [
          "haul queue delete: jobs of the queue \"music\" still wait or run. Wait until these jobs have ended, or cancel them with 'haul cancel --queue music' first."
        ])
      try await pool.command("cancel", "--queue", "music")
      #expect(try await pool.command("queue", "delete", "music") == ["deleted the queue music"])
      #expect(try await pool.command("queues", "--json").count == 2)
      try await pool.command("queue", "create", "music", "--store", "data")
    }
  }

  @Test func `a batch is shown in numbers, moved forward and cancelled as a whole`() async throws {
    try await HaulPool.open { pool in
      let site = Site(["/a": Representation(seed: 1, length: 4096)])
      let origin = try OriginServer(handler: site.answer)
      let worker = try pool.worker()
      try await pool.command("submit", origin.url("/a"), "--batch", "monday", "--wait")
      try await pool.command("submit", "--batch", "monday", origin.url("/absent"))
      let wait = try await pool.haul(["batch", "wait", "monday"])
      #expect(wait.exit == .code(1))
      let late = (1...3).map { "http://h/\($0)" }
      try await pool.command("queue", "pause", "data")
      try await pool.command("queue", "pause", "default")
      _ = try await pool.haul(["submit", "--batch", "monday"] + late)
      let object = try #require(try await pool.command("batch", "show", "monday", "--json").first)
      for member in [
        #""batch":"monday""#, #""jobs":5"#, #""completed":1"#, #""failed":1"#, #""unfinished":3"#,
        #""bytes":4096"#, #""cancelled":0"#,
      ] { #expect(object.contains(member), "\(member): \(object)") }
      let reason =
        #","obstacle":"the queue default is paused. Resume it with: haul queue resume default"}"#
      #expect(try await pool.command("batches", "--json") == [object.replacing(reason, with: "}")])
      #expect(object.hasSuffix(reason), "\(object)")
      #expect(
        try await pool.command("batches") == [
          "BATCH   JOBS  COMPLETED  FAILED  CANCELLED  LEFT    BYTES   RATE  TIME LEFT",
          "monday     5          1       1          0     3  4.0 KiB  0 B/s     paused",
          "      the queue default is paused",
        ])
      #expect(
        try await pool.command("prioritize", "--batch", "monday", "--priority", "0")
          == ["3 jobs now have priority 0"])
      #expect(
        try await pool.command("prioritize", "--batch", "monday", "--priority", "0")
          == ["no matching job to prioritize"])
      #expect(try await pool.command("cancel", "--batch", "monday") == ["3 jobs cancelled"])
      let failures = try await pool.command("failures", "--json")
      #expect(failures.count == 1)
      #expect(
        failures.first?.contains(#""error":"http_404","host":"127.0.0.1:\#(origin.port)""#) == true)
      #expect(try await pool.command("failures").last == "      the server answered 404")
      try await pool.stop(worker)
    }
  }

  @Test func `who deletes a queue learns which live workers name it`() async throws {
    try await HaulPool.open { pool in
      for queue in ["music", "films"] {
        try await pool.command("queue", "create", queue, "--store", HaulPool.store)
      }
      let named = try pool.worker("--queue", "music", "--queue", "films")
      let other = try pool.worker()
      try await named.event("worker.started")
      try await other.event("worker.started")
      let output = try await pool.haul(["queue", "delete", "music"])
      #expect(output.exit == .code(0))
      let number = try await named.workerNumber()
      #expect(output.standardError.count == 1)
      #expect(
        output.standardError.last?.hasPrefix("haul queue delete: worker \(number) (") == true
          && output.standardError.last?.contains(" names the queue in --queue") == true,
        "\(output)")
      try await named.drain()
      try await other.drain()
    }
  }
}
