import Foundation
import Postgres
import TestSupport
import Testing

@testable import JobQueue

/// The signs that workers leave in directories of stores, as the database passes them on.
struct SignTests {
  @Test func `a worker hears of those that have signed its instances, and whether they miss it`()
    async throws
  {
    try await Pool.open { pool in
      let other = UUID().uuidString
      let elsewhere = try await pool.jobs.initStore(
        name: Pool.name, marker: other, machine: "m", root: "/other")
      let (one, two) = (try await pool.worker(), try await pool.worker())
      let stranger = try await pool.worker(markers: [other])
      func sign(_ worker: TestWorker, _ instance: Int, unseen: [Int64] = []) async throws
        -> [StorePeer]
      {
        try await pool.hear(worker)
        return try await JobQueue(worker.work).signStores(
          worker.caller, [StoreSign(instance: instance, fresh: false, unseen: unseen)])
      }
      #expect(try await sign(stranger, elsewhere) == [])
      // An instance that it does not mount counts for nothing.
      #expect(try await sign(stranger, pool.instance) == [])
      #expect(try await sign(one, pool.instance) == [])
      try await pool.execute(
        "UPDATE haul.worker SET signs = jsonb_set(signs, ARRAY[$1, 'since'], to_jsonb(now() - interval '1 hour'))"
          + " WHERE id = $2", ["\(pool.instance)", one.caller.worker])
      let heard = try #require(try await sign(two, pool.instance).first)
      #expect(heard.worker == one.caller.worker && heard.age >= 3600 && !heard.misses)
      let missed = try await sign(one, pool.instance, unseen: [two.caller.worker])
      #expect(missed.map(\.worker) == [two.caller.worker])
      #expect(missed.map(\.misses) == [false])
      #expect(try await sign(two, pool.instance).map(\.misses) == [true])

      // One that has closed the store, whose directory is a copy, is no witness.
      try await JobQueue(one.work).closeStore(one.caller, Pool.name, because: "a copy")
      #expect(try await sign(two, pool.instance) == [])
      try await JobQueue(one.work).closeStore(one.caller, Pool.name, because: nil)

      // Made again, it is young.
      _ = try await JobQueue(one.work).signStores(
        one.caller, [StoreSign(instance: pool.instance, fresh: true, unseen: [])])
      #expect(try #require(try await sign(two, pool.instance).first).age < 3600)
      try await pool.jobs.stopWorker(one.caller)
      #expect(try await sign(two, pool.instance) == [])
    }
  }
}
