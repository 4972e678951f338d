extension Pool {
  /// Sets the database's clock back by two hours, as the next round of the leader sees it. One round then corrects at most
  /// `number` of each kind.
  func setClockBack(mendingAtOnce number: Int = 20_000) async throws {
    try await execute(
      """
      CREATE OR REPLACE FUNCTION haul.mended_at_once() RETURNS integer LANGUAGE sql IMMUTABLE RETURN \(number)
      """)
    try await execute("UPDATE haul.pulse SET round_at = round_at + interval '2 hours'")
  }
}
