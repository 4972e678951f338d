import Postgres
import TestSupport
import Testing

/// One row of the decision table: what is known when a lease ends, and what must follow.
struct Decision: Sendable, CustomTestStringConvertible {
  var result = "failed"
  var command: String?
  var error: String?
  var failures = 0
  var rescues = 0
  var progressed = false
  var resumable = false
  /// Seconds.
  var retryAfter: Double?
  var hostFailures = 0
  /// Seconds; nil = the host was in no trouble for this job so far.
  var trouble: Double?
  /// How often before it was refused beside others, as it is now.
  var busy: Int?
  /// Whether all live workers were refused.
  var refused = false
  var dice = 0.0

  var state: String
  var charged = false
  /// Seconds.
  var delay: Double?
  var cause: String?

  var testDescription: String {
    "\(result) \(command ?? "") \(error ?? "") failures \(failures) rescues \(rescues)"
      + " progressed \(progressed) resumable \(resumable) dice \(dice) → \(state)"
  }

  static let table: [Decision] = endings + commands + permanent + backoff + hosts + workers

  private static let endings = [
    Decision(result: "completed", state: "completed"),
    Decision(result: "released", state: "queued"),
    Decision(result: "released", resumable: true, state: "interrupted"),
    Decision(result: "released", failures: 99, rescues: 99, state: "queued"),
    Decision(result: "rescued", state: "queued", charged: true),
    Decision(result: "rescued", resumable: true, state: "interrupted", charged: true),
    Decision(result: "rescued", rescues: 2, state: "queued", charged: true),
    Decision(
      result: "rescued", rescues: 3, state: "failed", charged: true, cause: "rescued_too_often"),
    Decision(
      result: "rescued", rescues: 3, progressed: true, resumable: true, state: "interrupted"),
    Decision(result: "rescued", rescues: 99, progressed: true, state: "queued"),
  ]

  private static let commands = [
    Decision(result: "completed", command: "cancel", state: "completed"),
    Decision(result: "completed", command: "pause", state: "completed"),
    Decision(result: "released", command: "cancel", resumable: true, state: "cancelled"),
    Decision(result: "released", command: "pause", resumable: true, state: "paused"),
    Decision(result: "rescued", command: "cancel", rescues: 9, state: "cancelled"),
    Decision(result: "rescued", command: "pause", state: "paused", charged: true),
    Decision(
      result: "rescued", command: "pause", rescues: 3, state: "failed", charged: true,
      cause: "rescued_too_often"),
    Decision(command: "cancel", error: "timeout", state: "cancelled", cause: "timeout"),
    Decision(
      command: "pause", error: "timeout", state: "paused", charged: true, delay: 0,
      cause: "timeout"),
    Decision(command: "pause", error: "dns", state: "paused", delay: 0.5, cause: "dns"),
    Decision(
      command: "pause", error: "http_4xx", state: "failed", charged: true, cause: "http_4xx"),
  ]

  private static let workers = [
    Decision(error: "credential", state: "scheduled", delay: 0.5, cause: "credential"),
    Decision(
      error: "proxy", failures: 99, dice: 0.999, state: "scheduled", delay: 0.9995, cause: "proxy"),
    Decision(error: "credential", trouble: 40, state: "scheduled", delay: 20, cause: "credential"),
    Decision(
      error: "credential", trouble: 86400, state: "scheduled", delay: 150, cause: "credential"),
    Decision(error: "credential", trouble: 86401, state: "failed", cause: "credential"),
    Decision(error: "not_permitted", state: "scheduled", delay: 0.5, cause: "not_permitted"),
    Decision(error: "not_permitted", refused: true, state: "failed", cause: "not_permitted"),
    Decision(command: "pause", error: "proxy", state: "paused", delay: 0.5, cause: "proxy"),
    Decision(command: "cancel", error: "proxy", state: "cancelled", cause: "proxy"),
  ]

  private static let permanent = [
    "http_4xx", "exists", "digest", "blocked_address", "blocked_credential", "no_credential",
    "unheard_of",
  ]
  .map {
    Decision(error: $0, retryAfter: 60, state: "failed", charged: true, cause: $0)
  }

  private static let backoff =
    ["timeout", "interrupted", "http_5xx", "range", "source_changed", "disk_full", "tls"]
    .map { Decision(error: $0, state: "scheduled", charged: true, delay: 0, cause: $0) }
    + [(0, 2.0), (1, 4.0), (3, 16.0), (10, 600.0), (1000, 600.0)].map { failures, bound in
      Decision(
        error: "timeout", failures: min(failures, 2000), dice: 0.999, state: "scheduled",
        charged: true, delay: 0.999 * bound, cause: "timeout")
    } + [
      Decision(
        error: "timeout", retryAfter: 90, state: "scheduled", charged: true, delay: 90,
        cause: "timeout"),
      Decision(
        error: "timeout", failures: 3, retryAfter: 1, dice: 0.5, state: "scheduled",
        charged: true, delay: 8, cause: "timeout"),
    ]

  private static let hosts = [
    Decision(
      error: "http_5xx", busy: 0, dice: 0.5, state: "scheduled", delay: 2, cause: "http_5xx"),
    Decision(
      error: "http_5xx", failures: 99, busy: 4, dice: 0.5, state: "scheduled", delay: 32,
      cause: "http_5xx"),
    Decision(
      error: "http_5xx", busy: 5, state: "scheduled", charged: true, delay: 0, cause: "http_5xx"),
    Decision(
      command: "pause", error: "http_5xx", busy: 1, state: "paused", delay: 0, cause: "http_5xx"),
    Decision(command: "cancel", error: "http_5xx", busy: 1, state: "cancelled", cause: "http_5xx"),
    Decision(error: "dns", state: "scheduled", delay: 0.5, cause: "dns"),
    Decision(error: "connect", dice: 0.999, state: "scheduled", delay: 0.9995, cause: "connect"),
    Decision(
      error: "connect", hostFailures: 3, dice: 0.999, state: "scheduled", delay: 7.996,
      cause: "connect"),
    Decision(error: "connect", hostFailures: 99, state: "scheduled", delay: 150, cause: "connect"),
    Decision(
      error: "rate_limited", retryAfter: 120, state: "scheduled", delay: 120,
      cause: "rate_limited"),
    Decision(
      error: "rate_limited", failures: 99, state: "scheduled", delay: 0.5, cause: "rate_limited"),
    Decision(error: "dns", trouble: 86400, state: "scheduled", delay: 0.5, cause: "dns"),
    Decision(error: "dns", trouble: 86401, state: "failed", cause: "host_unreachable"),
    Decision(command: "cancel", error: "dns", trouble: 86401, state: "cancelled", cause: "dns"),
    Decision(
      error: "rate_limited", retryAfter: 86400, state: "scheduled", delay: 86400,
      cause: "rate_limited"),
    Decision(
      error: "rate_limited", retryAfter: 86401, state: "failed", cause: "host_unreachable"),
    Decision(
      error: "rate_limited", retryAfter: 400, trouble: 86000, state: "scheduled", delay: 400,
      cause: "rate_limited"),
    Decision(
      error: "rate_limited", retryAfter: 401, trouble: 86000, state: "failed",
      cause: "host_unreachable"),
    Decision(
      command: "pause", error: "rate_limited", retryAfter: 86401, state: "failed",
      cause: "host_unreachable"),
  ]
}

struct DecideTests {
  /// Five failures and three rescues allowed, a day's wait for the host.
  @Test(arguments: Decision.table)
  func `a lease's end decides the job's state`(_ row: Decision) async throws {
    try await check(row, maxAttempts: row.failures >= 3 ? 5000 : 5)
  }

  @Test(arguments: [1, 2, 5])
  func `the last attempt fails the job`(limit: Int) async throws {
    try await check(
      Decision(
        error: "timeout", failures: limit - 1, state: "failed", charged: true, cause: "timeout"),
      maxAttempts: limit)
    try await check(
      Decision(
        command: "pause", error: "timeout", failures: limit - 1, state: "failed", charged: true,
        cause: "timeout"), maxAttempts: limit)
    try await check(
      Decision(
        error: "timeout", failures: limit - 1, state: "scheduled", charged: true, delay: 0,
        cause: "timeout"), maxAttempts: limit + 1)
  }

  private func check(_ row: Decision, maxAttempts: Int) async throws {
    try await withTestDatabase { database in
      let rows = try await database.connect().query(
        """
        SELECT state, charged, extract(epoch FROM delay)::float8, error
        FROM haul.decide($1, $2, $3, $4::int, $5::int, $6::int, 3, $7::boolean, $8::boolean,
          make_interval(secs => $9::float8), $10::int, make_interval(secs => $11::float8), '1 day', $12::float8,
          p_busy => $13::int, p_refused => $14::boolean)
        """,
        [
          row.result, row.command, row.error, row.failures, maxAttempts, row.rescues,
          row.progressed, row.resumable, row.retryAfter, row.hostFailures, row.trouble, row.dice,
          row.busy, row.refused,
        ])
      #expect(try rows[0].decode("state", as: String.self) == row.state)
      #expect(try rows[0].decode("charged", as: Bool.self) == row.charged)
      #expect(try rows[0].decode(3, as: String?.self) == row.cause)
      let delay: Double? = try rows[0].decode(2)
      #expect((delay == nil) == (row.delay == nil))
      if let delay, let expected = row.delay { #expect(abs(delay - expected) < 0.001) }
    }
  }
}
