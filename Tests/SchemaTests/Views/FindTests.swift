import JobModel
import JobQueue
import Postgres
import TestSupport
import Testing

/// Pages of jobs, as `haul top` lists them: the same jobs as the view has, the newest first, however they are paged.
struct FindTests {
  /// A pool with a job in each state; those of the batch `films` among them.
  private func withPool(_ body: (Pool) async throws -> Void) async throws {
    try await Pool.open { pool in
      try await LivelyPool.fill(pool)
      for (action, id) in [(JobAction.pause, Int64(10)), (.cancel, 11)] {
        var selector = JobSelector()
        selector.ids = [id]
        #expect(try await pool.jobs.control(action, selector) == 1)
      }
      try await pool.submit(to: "late.test", after: .seconds(3600), batch: "films")
      let states = try await pool.states()
      #expect(Set(states.keys) == Set(JobState.known.map(\.rawValue)))
      try await body(pool)
    }
  }

  private func selector(_ change: (inout JobSelector) -> Void) -> JobSelector {
    var selector = JobSelector()
    change(&selector)
    return selector
  }

  /// Each state, by itself and with what else a person narrows a list by.
  private var selectors: [JobSelector] {
    ([nil] + JobState.known.map { $0 }).flatMap { state in
      [
        selector { $0.state = state },
        selector {
          $0.state = state
          $0.batch = "films"
        },
        selector {
          $0.state = state
          $0.host = "slow.test"
        },
        selector {
          $0.state = state
          $0.queue = "cold"
        },
        selector {
          $0.state = state
          $0.batch = "films"
          $0.host = "full.test"
        },
        selector {
          $0.state = state
          $0.error = "http_4xx"
        },
      ]
    }
  }

  @Test func `a search finds what the view has, on one page or on many`() async throws {
    try await withPool { pool in
      for selector in selectors {
        let wanted = try await pool.jobs.jobs(selector, limit: 100)
        let whole = try await pool.jobs.find(selector, limit: 100)
        #expect(whole.rows.map(\.job) == wanted.map(\.job), "\(selector)")
        #expect(whole.older == nil)
        for (limit, looking) in [(1, 1), (2, 1), (2, 100), (5, 7)] {
          var found: [Int64] = []
          var before: Int64? = .max
          var pages = 0
          while let last = before, pages < 100 {
            let page = try await pool.jobs.find(
              selector, before: last, limit: limit, looking: looking)
            #expect(page.rows.count <= limit)
            found += page.rows.map(\.job)
            #expect(page.older.map { $0 < last } ?? true)
            before = page.older
            pages += 1
          }
          #expect(found == wanted.map(\.job), "\(selector), \(limit) a page")
        }
      }
    }
  }

  @Test func `its rows are those of the view, and others are read beside them`() async throws {
    try await withPool { pool in
      let wanted = try await pool.jobs.jobs(JobSelector(), limit: 100)
      let page = try await pool.jobs.find(JobSelector(), limit: 100)
      for (row, view) in zip(page.rows, wanted) {
        #expect(
          (row.state, row.queue, row.batch, row.host, row.priority) == (
            view.state, view.queue, view.batch, view.host, view.priority
          ))
        #expect(
          (row.path, row.url, row.bytes, row.total) == (view.path, view.url, view.bytes, view.total)
        )
        #expect(
          (row.error, row.message, row.lastError) == (view.error, view.message, view.lastError))
        #expect(
          (row.submittedAt, row.runAt, row.finishedAt) == (
            view.submittedAt, view.runAt, view.finishedAt
          ))
        #expect((row.worker, row.store) == (view.worker, view.store))
      }
      let failed = try await pool.jobs.find(
        selector { $0.state = .failed }, limit: 1, and: [1, 7, 8, 999])
      #expect(failed.rows.map(\.job) == [8] && failed.others.map(\.job) == [7, 1])
      let none = try await pool.jobs.find(
        selector { $0.state = .paused }, text: "nowhere", limit: 1, and: [1])
      #expect(none.rows == [] && none.others.map(\.job) == [1])
      #expect(Set(try await pool.jobs.listed([7, 999, 1]).map(\.job)) == [1, 7])
    }
  }

  @Test func `a text is part of the path or of the URL that people see`() async throws {
    try await Pool.open { pool in
      let urls = [
        "https://user:hidden@a.test/One.iso?token=secret1&part=7", "https://b.test/two.iso",
        "https://c.test/50%25_off.zip",
      ]
      let lines = urls.enumerated().map { index, url in
        Pool.line(index + 1, url, "films/\(index).bin")
      }
      _ = try await pool.jobs.submit(Submission(queue: Pool.name), lines)
      for (text, jobs) in [
        ("", [3, 2, 1]), ("one.ISO", [1]), ("films/1", [2]), ("FILMS", [3, 2, 1]),
        (".iso", [2, 1]),
        ("part=7", [1]), ("https://a.test", [1]), ("hidden", []), ("secret1", []), ("%25_", [3]),
        ("_", [3]), ("\\", []),
      ] as [(String, [Int64])] {
        let page = try await pool.jobs.find(JobSelector(), text: text, limit: 100)
        #expect(page.rows.map(\.job) == jobs, "\(text)")
      }
      // A file that got another name is found by that.
      let worker = try await pool.worker()
      let lease = try await worker.claimOne()
      var ending = LeaseEnding(job: lease.job, token: lease.token, result: .completed)
      ending.path = "films/renamed.bin"
      try await worker.call([ending])
      let page = try await pool.jobs.find(JobSelector(), text: "renamed", limit: 100)
      #expect(page.rows.map(\.path) == ["films/renamed.bin"])
    }
  }

  @Test func `a name that does not exist is an error, and a page has bounds`() async throws {
    try await Pool.open { pool in
      try await pool.submit(1200)
      await #expect(throws: JobQueueError.self) {
        _ = try await pool.jobs.find(selector { $0.batch = "absent" }, limit: 1)
      }
      for limit in [-1, 0] {
        let page = try await pool.jobs.find(JobSelector(), limit: limit)
        #expect(page.rows.map(\.job) == [1200] && page.older == 1200)
      }
      let page = try await pool.jobs.find(JobSelector(), limit: 100_000)
      #expect(page.rows.count == 1000 && page.older == 201)
      // It stops where it has looked at enough, and says where.
      let none = try await pool.jobs.find(
        JobSelector(), text: "nowhere", limit: 100, looking: 300)
      #expect(none == JobPage(rows: [], older: 901))
    }
  }
}
