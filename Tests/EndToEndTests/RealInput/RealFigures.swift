import Foundation
import Postgres
import TestSupport

/// What a run of the real input cost, by nginx's own log and by the database, and which bound it broke.
struct RealFigures: CustomStringConvertible {
  /// What a transfer may have fetched since its last checkpoint: 5 s of it, or 64 MiB.
  static let interval = min(64 << 20, 5 * RealInputTests.rate)
  /// What may come while a checkpoint is synced and recorded, and 4 KiB of overlap.
  static let writeTime: Int64 = 16 << 20 + 4 << 10
  /// What a worker had not yet read when it was drained: a burst of nginx's, and 4 KiB of overlap.
  static let inFlight: Int64 = 4 << 20 + 4 << 10

  let states: [String: Int]
  /// How many jobs have how many completed attempts.
  let timesCompleted: [Int: Int]
  /// A sentence for each bound that does not hold.
  let broken: [String]
  let description: String

  /// One job's history beside nginx's.
  private struct Job {
    let path: String
    let state: String
    let completed: Int
    let rescued: Int
    let released: Int
    let failed: Int
    /// What the drained attempts had fetched and could not save.
    let unsaved: Int64
    /// Bytes sent beyond the file's length.
    let excess: Int64
  }

  init(_ run: RealRun, _ times: RealRun.Times) async throws {
    let log = try run.nginx.accessLog()
    let jobs = try await Self.jobs(run, sent: log.bytes)
    states = jobs.reduce(into: [:]) { $0[$1.state, default: 0] += 1 }
    timesCompleted = jobs.reduce(into: [:]) { $0[$1.completed, default: 0] += 1 }

    var broken: [String] = []
    func bound(_ what: String, _ value: Int64, _ limit: Int64) {
      if value > limit { broken.append("\(what): \(value), more than \(limit)") }
    }
    for job in jobs {
      let limit =
        Int64(job.rescued) * (Self.interval + Self.writeTime)
        + Int64(job.released) * Self.inFlight + job.unsaved
      bound("bytes fetched twice of \(job.path)", job.excess, limit)
      bound("bytes missing of \(job.path)", -job.excess, 0)
      bound("failed attempts of \(job.path)", Int64(job.failed), 0)
    }
    bound("ms from the kill to the resumption", times.killResumed - times.kill, 15_000)
    bound("ms from the release to the resumption", times.releaseResumed - times.release, 3_000)
    self.broken = broken

    let killed = jobs.filter { $0.rescued > 0 }
    let drained = jobs.filter { $0.released > 0 }
    let onlyDrained = drained.filter { $0.rescued == 0 }
    let others = jobs.filter { $0.released == 0 && $0.rescued == 0 }
    let seconds = Double(times.end - times.begin) / 1000
    description = Self.table([
      ("files", "\(run.input.files.count)"),
      ("bytes", Self.mib(run.input.bytes)),
      ("time, rate limit a transfer", "\(seconds) s, \(Self.mib(RealInputTests.rate))/s"),
      ("requests, most at once", "\(log.requests.count), \(log.peak)"),
      ("kill to resumption (bound 5 s)", "\(times.killResumed - times.kill) ms"),
      ("kill to the first request", "\(times.killRequest - times.kill) ms"),
      ("drain to release", "\(times.release - times.drain) ms"),
      ("release to resumption (bound 1 s)", "\(times.releaseResumed - times.release) ms"),
      ("transfers killed", "\(killed.count)"),
      ("  fetched twice, most", Self.mib(killed.map(\.excess).max() ?? 0)),
      ("  bound", Self.mib(Self.interval + Self.writeTime)),
      ("transfers drained (not killed before)", "\(drained.count) (\(onlyDrained.count))"),
      ("  fetched twice, most", Self.mib(onlyDrained.map(\.excess).max() ?? 0)),
      ("  of it not saved in time", Self.mib(drained.map(\.unsaved).max() ?? 0)),
      ("fetched twice of all others", "\(others.map(\.excess).reduce(0, +)) bytes"),
    ])
  }

  private static func jobs(_ run: RealRun, sent: [String: Int64]) async throws -> [Job] {
    let files = Dictionary(uniqueKeysWithValues: run.input.files.map { (run.prefix + $0.path, $0) })
    let rows = try await run.pool.admin.query(
      """
      SELECT j.path, j.state::text,
        count(*) FILTER (WHERE a.result = 'completed') AS completed,
        count(*) FILTER (WHERE a.result = 'rescued') AS rescued,
        count(*) FILTER (WHERE a.result = 'released') AS released,
        count(*) FILTER (WHERE a.result NOT IN ('completed', 'rescued', 'released')) AS failed,
        coalesce(sum(greatest(a.resumed_at + a.fetched - a.durable, 0))
          FILTER (WHERE a.result = 'released'), 0)::bigint AS unsaved
      FROM haul.jobs j LEFT JOIN haul.attempts a ON a.job = j.job
      GROUP BY j.job, j.path, j.state
      """)
    return try rows.map { row in
      let path: String = try row.decode("path")
      let file = files[path]
      return Job(
        path: path, state: try row.decode("state"), completed: try row.decode("completed"),
        rescued: try row.decode("rescued"), released: try row.decode("released"),
        failed: try row.decode("failed"), unsaved: try row.decode("unsaved"),
        excess: file.map { sent[$0.target, default: 0] - $0.length } ?? .max)
    }
  }

  private static func mib(_ bytes: Int64) -> String {
    String(format: "%.1f MiB", Double(bytes) / 1_048_576)
  }

  private static func table(_ rows: [(String, String)]) -> String {
    rows.map { "  " + $0.padding(toLength: 40, withPad: " ", startingAt: 0) + $1 }
      .joined(separator: "\n")
  }
}
