import JobQueue
import Postgres
import TestSupport
import Testing

/// Rules for hosts that no job has.
struct HostRuleTests {
  @Test func `a rule for a host that no job has is told`() async throws {
    try await HaulPool.open { pool in
      try await pool.command("submit", "http://a.example.org:8443/x")
      try await pool.command("submit", "http://later.example.org/x", "--not-before", "1h")
      let early = "no job has this host yet. The rule applies to future jobs"
      for (pattern, note) in [
        ("exmaple.org", early),
        (
          "a.example.org",
          "no job has this host yet. Did you mean a.example.org:8443? If so, undo this with: haul host unset a.example.org"
        ),
        ("*.example.com", early.replacing("this host", with: "a host that matches this pattern")),
      ] {
        let output = try await pool.haul(["host", "set", pattern, "--cap", "2"])
        #expect(output.exit == .code(0))
        #expect(output.standardOutput == ["\(pattern): at most 2 transfers at the same time"])
        #expect(output.standardError == ["haul host set: \(note)"])
      }
      // That it has been blocked before makes it no host of a job.
      for _ in 1...2 {
        let output = try await pool.haul(["host", "block", "exmaple.org"])
        #expect(output.exit == .code(0))
        #expect(output.standardError == ["haul host block: \(early)"])
      }
      // Nor one that another is likely to mean; but a.example.org:8443 is.
      for (host, note) in [
        ("exmapel.org", early),
        (
          "a.exmaple.org:8443",
          "no job has this host yet. Did you mean a.example.org:8443? If so, undo this with: haul host unblock a.exmaple.org:8443"
        ),
      ] {
        let output = try await pool.haul(["host", "block", host])
        #expect(output.standardError == ["haul host block: \(note)"])
      }
      for pattern in ["a.example.org:8443", "*.example.org:8443", "*", "later.example.org"] {
        let output = try await pool.haul(["host", "set", pattern, "--cap", "2"])
        #expect(output.exit == .code(0))
        #expect(output.standardError == [])
      }
    }
  }

  @Test func `free again, a host is none until a job names it`() async throws {
    try await HaulPool.open { pool in
      try await pool.command("submit", "http://a.example.org:8443/x")
      try await pool.command("submit", "http://later.example.org/x", "--not-before", "1h")
      for host in ["exmaple.org", "exmapel.org"] { try await pool.command("host", "block", host) }
      try await pool.command("host", "set", "later.example.org", "--cap", "2")
      func knows(_ host: String) async throws -> Bool {
        let listed = try await pool.command("hosts", "--json", "--limit", "100")
        let jobs = try await pool.haul(["jobs", "--host", host])
        #expect(listed.contains { $0.contains("\"\(host)\"") } == (jobs.exit == .code(0)))
        return jobs.exit == .code(0)
      }
      let unknown = try await pool.haul(["host", "unblock", "exmape.org"])
      #expect(unknown.standardError.first?.hasSuffix("Did you mean 'exmapel.org'?") == true)
      func names(_ kind: String) async throws -> [String] {
        try await pool.values("SELECT haul.names($1, 'exm')", [kind])
      }
      #expect(try await names("listed host") == ["exmapel.org", "exmaple.org"])
      #expect(try await names("host") == [])
      try await pool.command("host", "unblock", "exmapel.org")
      #expect(try await !knows("exmapel.org"))
      try await pool.command("submit", "http://exmapel.org/x")
      #expect(try await knows("exmapel.org"))
      let misspelt = try await pool.haul(["host", "unset", "later.exmaple.org"])
      #expect(misspelt.exit == .code(65))
      #expect(
        misspelt.standardError.map(\.withoutPool) == [
          "haul host unset: there is no policy for \"later.exmaple.org\". 'haul host policies' lists all policies. "
            + "Did you mean 'later.example.org'?"
        ])
      #expect(try await pool.haul(["host", "block", "later.example.org"]).standardError == [])
      let unblocked = try await pool.command("host", "unblock", "later.example.org")
      #expect(
        unblocked[0].firstMatch(
          of:
            /^later.example.org: unblocked\. 1 job still waits and can start in 59m\d\ds\. List it with: haul jobs --state scheduled --host later.example.org$/
        ) != nil, "\(unblocked)")
      #expect(
        try await pool.command("host", "unblock", "a.example.org:8443") == [
          "a.example.org:8443: unblocked"
        ])
    }
  }
}
