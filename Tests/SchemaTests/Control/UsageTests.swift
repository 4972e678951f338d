import JobModel
import JobQueue
import Postgres
import TestSupport
import Testing

/// Files and bytes by day, and by queue, batch, host and worker.
struct UsageTests {
  /// The usage of a kind today, one line for each name: `name files failed bytes fetched`.
  private func usage(_ pool: Pool, _ kind: String) async throws -> [String] {
    try await pool.column(
      """
      SELECT concat_ws(' ', coalesce(name, '-'), files, failed, bytes, fetched) FROM haul.usage_by_day
      WHERE kind = $1 AND day = (clock_timestamp() AT TIME ZONE 'UTC')::date ORDER BY name COLLATE "C"
      """, [kind])
  }

  /// The sums of each kind, without names: `files failed bytes fetched`.
  private func sums(_ pool: Pool) async throws -> [String] {
    try await pool.column(
      """
      SELECT concat_ws(' ', sum(files), sum(failed), sum(bytes), sum(fetched)) FROM haul.usage_by_day
      GROUP BY kind ORDER BY kind
      """)
  }

  /// Adds all changes up, a few at a time. The view must show the same before and after.
  private func fold(_ pool: Pool) async throws {
    let before = try await sums(pool)
    while try await pool.jobs.foldUsage(limit: 2) > 0 {}
    #expect(try await sums(pool) == before)
    #expect(try await pool.value("SELECT count(*) FROM haul.usage_change") == 0)
  }

  private func ending(
    _ lease: Lease, _ result: LeaseEnding.Result, bytes: Int64? = nil, fetched: Int64,
    _ error: ErrorClass? = nil
  ) -> LeaseEnding {
    var ending = LeaseEnding(job: lease.job, token: lease.token, result: result)
    (ending.bytes, ending.fetched, ending.resumedAt) = (bytes, fetched, 0)
    (ending.error, ending.message) = (error, error.map { "trouble: \($0)" })
    return ending
  }

  @Test func `each ending counts once, in each kind`() async throws {
    try await Pool.open { pool in
      let jobs = try await pool.submit(2, batch: "b")
      let other = try await pool.submit(1, to: "b.test")
      let worker = try await pool.worker()
      let leases = try await worker.claim(3).sorted { $0.job < $1.job }
      let endings = [
        ending(leases[0], .completed, bytes: 100, fetched: 60),
        ending(leases[1], .failed, fetched: 7, "http_404"),
        ending(leases[2], .completed, bytes: 5, fetched: 5),
      ]
      #expect(leases.map(\.job) == jobs + other)
      try await worker.call(endings)
      // The reply was lost.
      _ = try await worker.repeatCall(endings)
      #expect(try await pool.states() == ["completed": 2, "failed": 1])
      for _ in 1...2 {
        #expect(try await usage(pool, "queue") == ["data 2 1 105 72"])
        #expect(try await usage(pool, "batch") == ["b 1 1 100 67", "- 1 0 5 5"])
        #expect(try await usage(pool, "host") == ["a.test 1 1 100 67", "b.test 1 0 5 5"])
        #expect(
          try await usage(pool, "worker") == ["\(worker.caller.worker) (machine) 2 1 105 72"])
        try await fold(pool)
      }
      // A file that is downloaded again counts again.
      #expect(try await pool.jobs.redo([jobs[0]]) == 1)
      try await worker.call([
        ending(try await worker.claimOne(), .completed, bytes: 100, fetched: 0)
      ])
      #expect(try await usage(pool, "queue") == ["data 3 1 205 72"])
    }
  }

  @Test func `bytes of attempts that did not complete count too`() async throws {
    try await Pool.open { pool in
      try await pool.submit(1)
      let worker = try await pool.worker()
      try await worker.call([
        ending(try await worker.claimOne(), .failed, fetched: 10, "interrupted")
      ]
      )
      #expect(try await pool.states() == ["scheduled": 1])
      #expect(try await usage(pool, "queue") == ["data 0 0 0 10"])
      try await pool.execute("UPDATE haul.scheduled SET run_at = clock_timestamp()")
      _ = try await pool.jobs.promote(limit: 10)
      try await worker.call([ending(try await worker.claimOne(), .released, fetched: 5)])
      try await worker.call([
        ending(try await worker.claimOne(), .completed, bytes: 20, fetched: 20)
      ])
      #expect(try await usage(pool, "queue") == ["data 1 0 20 35"])
      // An attempt without a byte leaves no row.
      try await fold(pool)
      try await pool.submit(1)
      try await worker.call([ending(try await worker.claimOne(), .released, fetched: 0)])
      #expect(try await pool.value("SELECT count(*) FROM haul.usage_change") == 0)
    }
  }

  @Test func `a cancelled or paused job counts only its bytes`() async throws {
    try await Pool.open { pool in
      let jobs = try await pool.submit(3)
      let worker = try await pool.worker()
      let leases = try await worker.claim(2)
      _ = try await pool.jobs.control(.cancel, Pool.ids([jobs[0], jobs[2]]))
      _ = try await pool.jobs.control(.pause, Pool.ids([jobs[1]]))
      try await worker.call(leases.map { ending($0, .released, fetched: 4) })
      #expect(try await pool.states() == ["cancelled": 2, "paused": 1])
      #expect(try await usage(pool, "queue") == ["data 0 0 0 8"])
      try await fold(pool)
    }
  }

  @Test func `a rescued attempt counts what its worker said, also afterwards`() async throws {
    try await Pool.open { pool in
      try await pool.submit(1, batch: "b")
      let worker = try await pool.worker()
      let lease = try await worker.claimOne()
      _ = try await JobQueue(worker.life).heartbeat(
        worker.caller, seen: worker.number,
        holding: [Progress(job: lease.job, token: lease.token, bytes: 30, total: nil, rate: 1)])
      #expect(try await pool.jobs.rescue(workers: [worker.caller.worker]) == 1)
      #expect(try await usage(pool, "batch") == ["b 0 0 0 30"])
      try await fold(pool)
      let late = ending(lease, .released, fetched: 50)
      try await worker.call([late])
      _ = try await worker.repeatCall([late])
      try await worker.call([late])
      #expect(try await usage(pool, "batch") == ["b 0 0 0 50"])
      #expect(try await pool.value("SELECT sum(fetched)::bigint FROM haul.attempt") == 50)
      try await fold(pool)
    }
  }

  @Test func `two sessions that add up at once count nothing twice`() async throws {
    try await Pool.open { pool in
      let worker = try await pool.worker()
      func complete() async throws {
        try await pool.submit(1)
        try await worker.call([
          ending(try await worker.claimOne(), .completed, bytes: 1, fetched: 1)
        ])
      }
      for _ in 1...3 { try await complete() }
      let other = try await pool.connect()
      let count = try await pool.commit(
        other,
        {
          #expect(try await JobQueue(other).foldUsage(limit: 2) == 2)
          try await complete()
          #expect(try await usage(pool, "queue") == ["data 4 0 4 4"])
        },
        while: pool.patient, { try await JobQueue(pool.patient).foldUsage(limit: 1000) })
      #expect(count == 2)
      #expect(try await usage(pool, "queue") == ["data 4 0 4 4"])
      #expect(try await pool.value("SELECT files FROM haul.usage WHERE kind = 'host'") == 4)
    }
  }

  @Test func `names that are gone, and days that come again`() async throws {
    try await Pool.open { pool in
      try await pool.execute(
        """
        INSERT INTO haul.usage_change (day, queue, batch, host, worker, files, failed, bytes, fetched)
        VALUES ('2026-01-02', 77, 78, 79, 80, 1, 2, 9223372036854775807, 4),
          ('2026-01-01', 77, 78, 79, 80, 1, 0, 1, 1),
          ('2026-01-02', 77, 78, 79, 80, 1, 2, 9223372036854775807, 4)
        """)
      for _ in 1...2 {
        let rows: [String] = try await pool.column(
          """
          SELECT concat_ws('|', day, name, files, failed, bytes, fetched) FROM haul.usage_by_day
          ORDER BY day, array_position('{queue,batch,host,worker}', kind)
          """)
        #expect(
          rows
            == ["queue 77", "batch 78", "host 79", "worker 80"].map { "2026-01-01|\($0)|1|0|1|1" }
            + ["queue 77", "batch 78", "host 79", "worker 80"].map {
              "2026-01-02|\($0)|2|4|9223372036854775807|8"
            })
        while try await pool.jobs.foldUsage(limit: 1) > 0 {}
      }
    }
  }

  @Test func `a deleted queue keeps its name, and a new one of this name adds to it`() async throws
  {
    try await Pool.open { pool in
      try await pool.jobs.createQueue("films", store: Pool.name)
      for _ in 1...2 {
        try await pool.submit(1, queue: "films")
        let worker = try await pool.worker()
        try await worker.call([
          ending(try await worker.claimOne(), .completed, bytes: 3, fetched: 3)
        ])
        try await pool.jobs.deleteQueue("films")
        try await pool.jobs.createQueue("films", store: Pool.name)
      }
      #expect(try await usage(pool, "queue") == ["films 2 0 6 6"])
      try await fold(pool)
      #expect(try await usage(pool, "queue") == ["films 2 0 6 6"])
    }
  }

  @Test func `usage stays when jobs are removed, for 400 days`() async throws {
    try await Pool.open { pool in
      try await pool.submit(3, batch: "b")
      try await PruneTests().end(pool, .completed)
      #expect(try await pool.jobs.foldUsage(limit: 1) == 1)
      let before = try await sums(pool)
      var selector = PruneSelector()
      selector.older = 0
      #expect(
        try await pool.jobs.prune(selector, isDryRun: false, export: nil, observe: { _ in }) == 3)
      #expect(try await pool.value("SELECT count(*) FROM haul.job") == 0)
      #expect(try await sums(pool) == before)
      try await fold(pool)
      try await pool.execute(
        """
        INSERT INTO haul.usage SELECT (clock_timestamp() AT TIME ZONE 'UTC')::date - n, 'host', 'h', 1, 1, 1, 1
        FROM generate_series(398, 405) n
        """)
      func old() async throws -> Int64 {
        try await pool.value("SELECT count(*) FROM haul.usage WHERE name = 'h'")
      }
      _ = try await pool.jobs.foldUsage(limit: 2)
      #expect(try await old() == 6)
      for _ in 1...3 { _ = try await pool.jobs.foldUsage(limit: 2) }
      #expect(try await old() == 3)
    }
  }

  /// Each day has 250 hosts and batches, and a row without a name.
  @Test func `after 35 days the smaller names of a day become one`() async throws {
    try await Pool.open { pool in
      try await pool.execute(
        """
        INSERT INTO haul.usage (day, kind, name, files, failed, bytes, fetched)
        SELECT (clock_timestamp() AT TIME ZONE 'UTC')::date - d, k, CASE WHEN n > 0 THEN 'n' || n ELSE '' END, 1, 2, n, 2 * n
        FROM unnest(ARRAY[30, 40, 50]) d, unnest(ARRAY['host', 'batch']) k, generate_series(0, 250) n
        """)
      let before = try await sums(pool)
      for limit in [10, 1000] {
        // Twice, so that nothing is added up twice.
        for _ in 1...2 {
          try await pool.execute(
            "UPDATE haul.prune_turn SET next_at = '-infinity', tidied_at = '-infinity'")
          while try await pool.jobs.prune(limit: limit).more {}
        }
        #expect(try await sums(pool) == before)
        let rows: [String] = try await pool.column(
          """
          SELECT concat_ws(' ', (clock_timestamp() AT TIME ZONE 'UTC')::date - day, kind, count(*), min(bytes) FILTER (WHERE name LIKE 'n%'),
            sum(files) FILTER (WHERE name = '*'), count(*) FILTER (WHERE name = ''))
          FROM haul.usage GROUP BY day, kind ORDER BY day, kind
          """)
        #expect(
          rows == [
            "50 batch 102 151 150 1", "50 host 102 151 150 1", "40 batch 102 151 150 1",
            "40 host 102 151 150 1", "30 batch 251 1 1", "30 host 251 1 1",
          ])
      }
    }
  }

  @Test func `jobs that fail without a decision count as failed`() async throws {
    try await Pool.open { pool in
      let jobs = try await pool.submit(2, after: .milliseconds(1), batch: "b")
      try await pool.execute(
        """
        CREATE FUNCTION public.poison() RETURNS trigger LANGUAGE plpgsql AS
          $$ BEGIN RAISE EXCEPTION 'poison' USING ERRCODE = '22003'; END $$
        """)
      for (table, job) in zip(["ready", "attempt"], jobs) {
        try await pool.execute(
          """
          CREATE TRIGGER poison BEFORE INSERT ON haul.\(table) FOR EACH ROW
            WHEN (NEW.job = \(job) AND to_jsonb(NEW) ->> 'error' IS DISTINCT FROM 'internal')
            EXECUTE FUNCTION public.poison()
          """)
      }
      try await pool.execute("UPDATE haul.scheduled SET run_at = clock_timestamp()")
      _ = try await pool.jobs.promote(limit: 100)
      let worker = try await pool.worker()
      try await worker.call([
        ending(try await worker.claimOne(), .completed, bytes: 3, fetched: 3)
      ])
      #expect(try await pool.states() == ["failed": 2])
      for kind in ["queue", "batch", "host"] {
        #expect(
          try await usage(pool, kind).map { $0.split(separator: " ")[1...] } == [
            ["0", "2", "0", "0"]
          ])
      }
      #expect(
        try await usage(pool, "worker")
          == ["\(worker.caller.worker) (machine) 0 1 0 0", "- 0 1 0 0"])
      try await fold(pool)
    }
  }
}
