import Foundation
import JobModel
import JobQueue
import Terminal

@testable import Top

extension ContinuousClock.Instant {
  /// When the samples were read.
  static let sample = ContinuousClock.now
}

extension TopModel {
  /// A key when nothing has just changed.
  mutating func press(_ key: Key) -> Request? { press(key, at: .sample + .seconds(60)) }

  mutating func load(_ rows: [TopRow], of pane: TopPane, at now: ContinuousClock.Instant) {
    load(TopPage(rows), of: pane, at: now)
  }
}

/// A pool in which something of everything happens.
enum Sample {
  static let transfers: [TransferRow] = [
    row(
      101, "mirror.example.org/debian/debian-12.7.0-amd64-DVD-1.iso", 1 << 30, 4 << 30, 12_900_000),
    row(
      102, "archive.example.org/pool/main/l/linux/linux-source-6.1_6.1.112-1_all.deb", 139_000_000,
      139_000_001, 380_000, worker: 12, machine: "host-b.example.org", attempt: 3),
    row(
      103, "動画/とても長い名前のファイル-第一巻-最終版.zip", 5 << 20, 9 << 20, 1 << 20, queue: "films", batch: "monday"
    ),
    row(104, "evil\u{1b}[2J\u{202e}\n.txt", 0, nil, 0, command: "cancel"),
    row(105, "stream", 123_456, nil, 61_728, batch: "a batch with a name that is rather long"),
  ]

  static func row(
    _ job: Int64, _ path: String, _ bytes: Int64, _ total: Int64?, _ rate: Int64, worker: Int64 = 7,
    machine: String = "host-a", queue: String = "data", batch: String? = nil, attempt: Int = 1,
    command: String? = nil
  ) -> TransferRow {
    TransferRow(
      job: job, path: path, bytes: bytes, total: total, rate: rate, worker: worker,
      machine: machine,
      queue: queue, host: "mirror.example.org", batch: batch, attempt: attempt,
      durable: bytes > 0 ? bytes / 2 : nil, seconds: 75, command: command)
  }

  static func figures(rate: Int64) -> PoolFigures {
    PoolFigures(running: 5, rate: rate, completed: 31, failed: 2, time: "14:22:07")
  }

  static func rows<Row: Decodable>(_ json: String, _ topRow: (Row) -> TopRow) throws -> [TopRow] {
    try decoded(json).map(topRow)
  }

  static func decoded<Row: Decodable>(_ json: String) throws -> [Row] {
    let decoder = JSONDecoder()
    decoder.keyDecodingStrategy = .convertFromSnakeCase
    return try decoder.decode([Row].self, from: Data(json.utf8))
  }

  /// A row of the list of jobs.
  static func job(
    _ id: Int64, _ state: JobState, path: String? = nil, batch: String? = nil,
    host: String = "h.test", total: Int64? = nil, error: String? = nil
  ) throws -> JobRow {
    let total = total.map { "\"total\": \($0)," } ?? ""
    let error = error.map { "\"error\": \"\($0)\"," } ?? ""
    let batch = batch.map { "\"batch\": \"\($0)\"," } ?? ""
    let path = path ?? "path/\(id)"
    let rows: [JobRow] = try decoded(
      """
      [{"job": \(id), "state": "\(state)", "queue": "data", "host": "\(host)", "priority": 5, \(error) \(batch) \(total)
        "path": "\(path)", "url": "https://\(host)/\(path)", "submitted_at": "2026-11-21T15:30:12.5+00:00",
        "bytes": 0, "store": "data"}]
      """)
    return rows[0]
  }

  static let queues = """
    [{"queue": "data", "store": "data", "paused": false, "queued": 120344, "interrupted": 2, "scheduled": 17, "held": 0,
      "running": 4, "rate": 13342000, "workers": 2, "max_running": 40, "weight": 3, "defaults": {"if_exists": "replace"}},
     {"queue": "films", "store": "films", "paused": true, "queued": 5, "interrupted": 0, "scheduled": 0, "held": 3,
      "running": 1, "rate": 1048576, "workers": 0, "weight": 1, "defaults": {}}]
    """

  static let hosts = """
    [{"host": "mirror.example.org", "running": 4, "cap": 4, "waiting": true, "why_idle": "full", "failures": 0,
      "policy_cap": 4, "interval": 0.5, "burst": 1},
     {"host": "archive.example.org:8443", "running": 0, "cap": 2, "waiting": true, "why_idle": "blocked", "failures": 3,
      "blocked_until": "2026-11-21T15:30:12.5+00:00", "block_reason": "connect", "policy_cap": 8, "interval": 0, "burst": 1}]
    """

  static let workers = """
    [{"worker": 7, "machine": "host-a", "pid": 1234, "version": "0.1.0", "state": "alive", "running": 4, "concurrency": 16,
      "rate": 13342000, "stores": ["data"], "registered_at": "2026-11-21T15:30:12.5+00:00",
      "heartbeat_at": "2026-11-21T15:30:12.5+00:00",
      "expires_at": "2026-11-21T15:30:27.5+00:00", "silence": 1.2},
     {"worker": 12, "machine": "host-b.example.org", "pid": 99, "version": "0.1.0", "state": "draining", "running": 1,
      "concurrency": 16, "rate": 0, "stores": ["data", "films"], "registered_at": "2026-11-21T15:30:12.5+00:00",
      "heartbeat_at": "2026-11-21T15:30:12.5+00:00",
      "expires_at": "2026-11-21T15:30:27.5+00:00", "silence": 2.9, "trouble": "films: no space left"}]
    """

  static let batches = """
    [{"batch": "monday", "jobs": 1200, "completed": 31, "failed": 2, "cancelled": 0, "unfinished": 1167, "running": 4,
      "bytes": 26843545600, "rate": 13342000, "seconds_left": 7322, "submitted_at": "2026-11-21T15:30:12.5+00:00",
      "steering": "pause", "completed_bytes": 1, "waiting_bytes": 0, "waiting_parts": 0, "held": 0, "running_parts": 1.8},
     {"batch": "sunday", "jobs": 40, "completed": 12, "failed": 0, "cancelled": 3, "unfinished": 25, "running": 0,
      "bytes": 1048576, "rate": 0, "submitted_at": "2026-11-20T15:30:12.5+00:00", "completed_bytes": 1048576,
      "waiting_bytes": 0, "waiting_parts": 0, "held": 25, "running_parts": 0}]
    """

  static let failures = """
    [{"error": "http_4xx", "host": "mirror.example.org", "hour": "2026-11-21T15:00:00+00:00", "jobs": 2,
      "message": "the server answered 404", "first_job": 281}]
    """

  static let jobs = """
    [{"job": 904, "state": "queued", "queue": "data", "batch": "monday", "host": "mirror.example.org", "priority": 5,
      "path": "mirror.example.org/pool/new.deb", "url": "https://mirror.example.org/pool/new.deb",
      "submitted_at": "2026-11-21T15:30:12.5+00:00", "bytes": 0, "store": "data"},
     {"job": 903, "state": "running", "queue": "data", "batch": "monday", "host": "mirror.example.org", "priority": 5,
      "path": "mirror.example.org/debian/debian-12.7.0-amd64-DVD-1.iso",
      "url": "https://mirror.example.org/debian/debian-12.7.0-amd64-DVD-1.iso", "worker": 7,
      "submitted_at": "2026-11-21T15:30:12.5+00:00", "bytes": 1073741824, "total": 4294967296, "store": "data"},
     {"job": 902, "state": "failed", "queue": "data", "batch": null, "host": "archive.example.org:8443", "priority": 3,
      "path": "gone.zip", "url": "https://archive.example.org:8443/gone.zip?token=…", "error": "http_4xx",
      "message": "the server answers 404", "finished_at": "2026-11-21T15:31:12.5+00:00",
      "submitted_at": "2026-11-21T15:30:12.5+00:00", "bytes": 0, "store": "data"},
     {"job": 901, "state": "scheduled", "queue": "films", "batch": "films", "host": "archive.example.org:8443", "priority": 5,
      "path": "late.mkv", "url": "https://archive.example.org:8443/late.mkv", "last_error": "timeout",
      "run_at": "2026-11-21T16:00:00+00:00", "submitted_at": "2026-11-21T15:30:12.5+00:00", "bytes": 0, "store": "films"},
     {"job": 900, "state": "completed", "queue": "films", "batch": "films", "host": "mirror.example.org", "priority": 5,
      "path": "done.mkv", "url": "https://mirror.example.org/done.mkv", "finished_at": "2026-11-21T15:31:12.5+00:00",
      "submitted_at": "2026-11-21T15:30:12.5+00:00", "bytes": 734003200, "total": 734003200, "store": "films"}]
    """

  static let attempts = """
    [{"attempt": 1, "token": 17, "worker": 7, "machine": "host-a", "result": "failed", "charged": true,
      "started_at": "2026-11-21T15:30:13+00:00", "ended_at": "2026-11-21T15:31:12.5+00:00", "seconds": 59.5, "resumed_at": 0,
      "fetched": 0, "durable": 0, "changes": 0, "status": 404, "error": "http_4xx", "message": "the server answers 404"}]
    """

  static let everything = DatabaseFacts.Rights(
    work: true, submit: true, watch: true, administer: true)

  /// All of it read, at a size, by a user who may do that much.
  static func model(
    _ columns: Int, _ rows: Int, part: PoolPart = .all, may: DatabaseFacts.Rights = everything
  ) throws -> TopModel {
    var model = TopModel(part: part)
    model.size = (columns, rows)
    model.identify(PoolContext(database: "pool", minute: "", may: may))
    model.leader = .some(.coordinator)
    model.waiting = PoolWaiting(jobs: 120_368)
    for second in 0..<40 {
      model.load(
        figures(rate: 14_390_000 - Int64(40 - second) * 300_000),
        at: .sample - .seconds(40 - second))
    }
    model.load(transfers.map(\.topRow), of: .running, at: .sample)
    model.load(try Self.rows(queues) { (row: QueueRow) in row.topRow }, of: .queues, at: .sample)
    model.load(try Self.rows(hosts) { (row: HostRow) in row.topRow }, of: .hosts, at: .sample)
    model.load(try Self.rows(workers) { (row: WorkerRow) in row.topRow }, of: .workers, at: .sample)
    model.load(try Self.rows(batches) { (row: BatchRow) in row.topRow }, of: .batches, at: .sample)
    model.load(
      try Self.rows(failures) { (row: FailureRow) in row.topRow }, of: .failures, at: .sample)
    model.load(
      TopPage(try Self.rows(jobs) { (row: JobRow) in row.topRow }), of: model.search, at: .sample)
    return model
  }
}
