import Postgres
import TestSupport
import Testing

/// A session that leaves its transaction open keeps a worker from settling jobs of one host, and from nothing else.
@Suite struct OpenTransactionRunTests {
  private let length: Int64 = 50_000

  @Test func `a worker serves all other hosts meanwhile, and settles the rest afterwards`()
    async throws
  {
    let gate = Gate("the last byte")
    let held = try OriginServer { request, reply in
      var representation = Representation(seed: 1, length: length)
      representation.gates[length - 1] = gate
      try representation.answer(request, reply)
    }
    let free = try OriginServer { try Representation(seed: 2, length: length).answer($0, $1) }
    try await HaulPool.open { pool in
      try await pool.submit(held.url("/held"), to: "held")
      let worker = try pool.worker()
      try await held.sent(length - 1)
      let holder = try await pool.database.connect()
      try await holder.script("BEGIN; SELECT FROM haul.host FOR UPDATE")
      gate.open()
      try await eventually("the file to be there") { try pool.files().count == 1 }
      for number in 1...3 { try await pool.submit(free.url("/\(number)"), to: "\(number)") }
      let completed = "SELECT count(*) FROM haul.jobs WHERE state = 'completed'"
      try await eventually("the other jobs to be completed") {
        try await pool.value(completed) == 3
      }
      #expect(try await pool.value("SELECT count(*) FROM haul.running") == 1)
      try await holder.script("ROLLBACK")
      await holder.close()
      try await eventually("the held job to be completed") {
        try await pool.value(completed) == 4
      }
      try await worker.drain()
      #expect(held.log.value.exchanges.count == 1)
      #expect(try await pool.violations() == [])
    }
  }
}
