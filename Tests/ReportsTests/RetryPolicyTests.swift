import HaulTransfer
import Postgres
import TestSupport
import Testing

/// The library tries again as the pool does: `RetryPolicy` and `haul.decide` give the same delays.
struct RetryPolicyTests {
  @Test func `the library and the database decide alike`() async throws {
    try await withTestDatabase { database in
      let connection = try await database.connect()
      let now = ContinuousClock.now
      for errorClass in TransferError.Class.allCases {
        for (failures, host) in [(0, 0), (1, 2), (3, 5), (4, 12), (9, 40)] {
          for (retryAfter, trouble) in [(nil, nil), (nil, 90), (30, nil), (3000, 1800), (30, 4000)]
            as [(Int?, Int?)]
          {
            for dice in [0, 0.37, 0.99] {
              var policy = RetryPolicy()
              policy.maxHostWait = .seconds(3600)
              var before = RetryPolicy.Failures()
              (before.charged, before.host) = (failures, host)
              before.hostSince = trouble.map { now - .seconds($0) }
              let error = TransferError(
                errorClass, "x", retryAfter: retryAfter.map { .seconds($0) })
              let delay = policy.delay(after: error, &before, now: now, dice: dice)
              // No other worker is left to try it, as no other process is for a program.
              let rows = try await connection.query(
                """
                SELECT CASE WHEN state = 'scheduled' THEN extract(epoch FROM delay)::double precision END
                FROM haul.decide('failed', NULL, $1, $2, 5, 0, 3, false, false, make_interval(secs => $3), $4,
                  make_interval(secs => $5), '1 hour', $6, $4, NULL, true)
                """,
                [
                  errorClass.rawValue, failures, retryAfter.map(Double.init), host,
                  trouble.map(Double.init), dice,
                ])
              let expected = try rows[0].decode(0, as: Double?.self)
              let found = delay.map { $0 / .seconds(1) }
              let isSame =
                found == nil || expected == nil
                ? found == nil && expected == nil : abs((found ?? 0) - (expected ?? 0)) < 1e-3
              #expect(
                isSame,
                "\(errorClass) \(failures) \(host) \(retryAfter ?? -1) \(trouble ?? -1) \(dice): \(found ?? -1) \(expected ?? -1)"
              )
            }
          }
        }
      }
      await connection.close()
    }
  }
}
