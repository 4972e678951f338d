import Foundation
import JobModel
import JobQueue
import Postgres
import TestSupport
import Testing

/// Values at the ends of their types and beyond, NULL, and what is of the wrong type, in every function that a login may call.
struct ExtremeValueTests {
  private static let numbers = [
    "null", "-1", "1.0", "1.5", "1e300", "-1e300", "9223372036854775807", "-9223372036854775808",
    "1152921504606846977", "32768", "\"x\"", "\"\"", "\"{[0,9223372036854775807)}\"",
    "\"{(,)}\"", "\"infinity\"", "{}", "[]", "true", "[null]", "{\"a\": 1e300}", "\"\(huge)\"",
  ]
  private static let huge = String(repeating: "a", count: 200_000)
  /// What elements of a worker's lists have.
  private static let keys = [
    "job", "token", "result", "error", "message", "status", "retry_after", "host", "bytes", "path",
    "digest", "fetched", "resumed_at", "changes", "range_unsafe", "source", "instance", "durable",
    "length", "resume", "intent", "total", "rate", "queue", "batch", "store", "marker",
  ]
  private static let options = [
    "max_attempts", "max_rescues", "max_host_wait", "connect_timeout", "stall_timeout", "length",
    "max_bytes", "max_rate", "digest", "headers", "mirrors", "credential", "if_exists", "mine",
  ]

  /// The last of them is NULL. `turn` chooses which part of the many JSON values is used.
  private func values(
    _ parameter: GrantedFunction.Parameter, _ leases: Leases, turn: Int
  ) -> [String?] {
    let ends: [String] =
      switch parameter.type {
      case "smallint": ["-32768", "32767", "-1", "0"]
      case "integer": ["-2147483648", "2147483647", "-1", "0"]
      case "bigint": ["-9223372036854775808", "9223372036854775807", "-1", "0"]
      case "double precision": ["NaN", "Infinity", "-Infinity", "1e308", "-1e308", "1e-308"]
      case "interval": ["178000000 years", "-178000000 years", "-1 microsecond"]
      case "timestamp with time zone": ["infinity", "-infinity", "294276-12-31", "4714-01-01 BC"]
      case "bigint[]": ["{NULL}", "{9223372036854775807,-1}"]
      case "integer[]", "text[]": ["{NULL}", "{NULL,\"-1\"}"]
      case "int8multirange": ["{(,)}", "{[-9223372036854775808,9223372036854775807)}"]
      case "text": [Self.huge]
      case "jsonb": json(leases, turn: turn)
      default: []
      }
    return ends + [nil]
  }

  /// Each key with a part of the values, each time another one; with all of them in a long run.
  private func json(_ leases: Leases, turn: Int) -> [String] {
    let parts = isLongRun ? 1 : 9
    func some(_ place: Int) -> [String] {
      Self.numbers.enumerated().filter { ($0.offset + place + turn) % parts == 0 }.map(\.element)
    }
    let elements = Self.keys.enumerated().flatMap { place, key in
      some(place).map { value in
        let lease = leases.next()
        let result = key == "bytes" ? "completed" : "failed"
        var fields = [
          "job": "\(lease.job)", "token": "\(lease.token)", "result": "\"\(result)\"",
          "error": "\"timeout\"", "resume": "\"{}\"", "durable": "\"{[0,9)}\"", "instance": "1",
        ]
        fields[key] = value
        return "[{\(fields.map { "\"\($0)\": \($1)" }.joined(separator: ", "))}]"
      }
    }
    let objects = (Self.options + ["ids", "batch", "queue", "host", "state", "error"]).enumerated()
      .flatMap { place, key in some(place).map { "{\"\(key)\": \($0)}" } }
    return elements + objects + Self.numbers + ["[]", "[[]]", "[null]"]
  }

  /// A value may be refused; nothing else of the server may fail by it.
  private static let mayEnd = ["22", "23", "HA", "54"]

  /// The functions of a role are divided into parts, which run at the same time.
  private static let parts = 3

  @Test(arguments: GrantTests.roles, 0..<parts)
  func `no value stops rescue, promotion, totals, views or other workers`(
    role: String, part: Int
  ) async throws {
    try await Pool.open { pool in
      try await pool.execute("SELECT haul.set_host('*', 10000, NULL, NULL)")
      try await pool.submit(4_000, batch: "batch")
      let registration = try await pool.jobs.register(
        program: "test", machine: "machine", pid: 1, concurrency: 4_000,
        stores: [JobQueue.StoreMarker(store: Pool.name, marker: pool.marker)])
      let attacker = TestWorker(
        caller: JobQueue.Caller(registration), work: pool.admin, life: pool.patient)
      try await pool.hear(attacker)
      var claimed: [Lease] = []
      for _ in 0..<4 { claimed += try await attacker.claim(1_000) }
      let leases = Leases(claimed)
      var number = await attacker.number
      try await pool.database.withLogin(role) { login in
        let connection = try await login.connect()
        let functions = try await GrantedFunction.all(of: role, pool.admin)
        for (place, function) in functions.enumerated() where place % Self.parts == part {
          for (index, parameter) in function.parameters.enumerated() {
            for value in values(parameter, leases, turn: place + index) {
              number += 1
              var known = [
                "p_worker": "\(attacker.caller.worker)", "p_secret": registration.secret,
                "p_call": "\(number)", "p_queues": "{data}", "p_version": "13",
                "p_on_duplicate": "skip", "p_free_slots": "0", "p_ids_ahead": "0",
                "p_options": "{}", "p_limit": "100", "p_endings": "[]", "p_holding": "[]",
                "p_points": "[]", "p_parts": "[]", "p_stores": "[]", "p_queue": "data",
              ]
              if function.parameters.contains(where: { $0.name == "p_submission" }) {
                known["p_submission"] = try await connection.stage(
                  [Pool.line(1, "https://b.test/\(number)", "b.test/\(number)")], queue: Pool.name)
              }
              var arguments = function.parameters.map { $0.ordinary(known) }
              arguments[index] = value
              do {
                _ = try await connection.query(function.call, arguments)
              } catch let error as PostgresError {
                let state = error.sqlState?.rawValue ?? "\(error)"
                #expect(
                  Self.mayEnd.contains { state.hasPrefix($0) },
                  "\(function.name) \(parameter.name) \((value ?? "NULL").prefix(300)): \(error)")
              }
            }
          }
        }
        await connection.close()
      }
      try await allGoesOn(pool, attacker)
    }
  }

  private func allGoesOn(_ pool: Pool, _ attacker: TestWorker) async throws {
    try await pool.readAllViews()
    try await pool.endGrace()
    try await pool.silence(attacker, for: 60)
    _ = try await pool.jobs.rescue()
    #expect(try await pool.value("SELECT count(*) FROM haul.lease") == 0)
    _ = try await pool.jobs.promote(limit: 10_000)
    while try await pool.jobs.rollUp(limit: 10_000) > 0 {}
    try await pool.readAllViews()
    let good = try await pool.submit(9, to: "good.test")
    let worker = try await pool.worker(concurrency: 10_000)
    // Priorities and batches may have changed, and nobody has promised an order.
    var found: Set<Int64> = []
    while found.count < 9 {
      let leases = try await worker.claim(1_000)
      try #require(!leases.isEmpty)
      found.formUnion(leases.map(\.job).filter(good.contains))
      try await worker.call(
        leases.map { LeaseEnding(job: $0.job, token: $0.token, result: .completed) })
    }
    while try await pool.jobs.rollUp(limit: 10_000) > 0 {}
    try await pool.readAllViews()
    // Lengths of 2^60 bytes have been added up to the end of what a total can hold.
    try await pool.execute("UPDATE haul.outcome SET bytes = 0")
    try await pool.execute("DELETE FROM haul.batch_change")
    try await pool.execute("UPDATE haul.batch_total SET bytes = 0")
  }
}

/// Leases in turn, so that each value meets one that is live.
private final class Leases {
  private let leases: [Lease]
  private var place = 0

  init(_ leases: [Lease]) {
    self.leases = leases
  }

  func next() -> Lease {
    place += 1
    return leases[place % leases.count]
  }
}
