import Postgres
import TestSupport
import Testing

/// Two sessions that put something into one lane, which nobody has made yet or a claim is looking at.
struct ArmInterleavingTests {
  private static func arm(_ head: Int) -> String {
    "SELECT haul.arm('{7}', '{1}', '{0}', '{5}', '{\(head)}')"
  }

  /// `host`, `head` and whether it is due, of each row.
  private func lanes(_ pool: Pool) async throws -> [String] {
    try await pool.column(
      "SELECT format('%s %s %s', host, head, next_at IS NOT NULL) FROM haul.lane ORDER BY host")
  }

  @Test func `whoever comes second finds the lane made`() async throws {
    try await Pool.open { pool in
      let (first, second) = (try await pool.connect(), try await pool.connect())
      try await pool.commit(
        first, { try await first.script(Self.arm(20)) }, while: second,
        { try await second.script(Self.arm(10)) })
      #expect(try await lanes(pool) == ["7 10 t"])
    }
  }

  @Test func `whoever comes second makes the lane that the first has not`() async throws {
    try await Pool.open { pool in
      let (first, second) = (try await pool.connect(), try await pool.connect())
      try await first.script("BEGIN; \(Self.arm(20))")
      let waiting = Task { try await second.script(Self.arm(30)) }
      try await pool.untilBlocked(second)
      try await first.script("ROLLBACK")
      try await waiting.value
      #expect(try await lanes(pool) == ["7 30 t"])
    }
  }

  /// It has changed the lane twice since this one began to look at it.
  @Test func `what a claim leaves behind is read after it has ended`() async throws {
    try await Pool.open { pool in
      let (claim, second) = (try await pool.connect(), try await pool.connect())
      try await claim.script(Self.arm(20))
      try await pool.commit(
        claim,
        {
          try await claim.script(
            """
            SELECT FROM haul.lane FOR UPDATE;
            UPDATE haul.lane SET head = 40; UPDATE haul.lane SET head = NULL, next_at = NULL
            """)
        }, while: second, { try await second.script(Self.arm(30)) })
      #expect(try await lanes(pool) == ["7 30 t"])
    }
  }
}
