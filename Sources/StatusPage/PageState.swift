import JobModel
import JobQueue

/// The page's data in the form that its script reads. Keys are columns of the views. Ages and durations are in seconds.
struct PageState: Encodable, Sendable {
  /// Whether the database answered. If not, `trouble` says why, and all values about the pool are nil.
  var up: Bool
  var trouble: String?
  /// The database and its server, or nil until the database has answered.
  var pool: String?
  var version: String
  /// Whether this process is the leader, which runs the maintenance.
  var leads: Bool
  var totals: Totals?
  var running: [Running]?
  var minutes: [[Int64]]?
  var workers: [Worker]?
  var gone: Gone?
  /// The time in seconds since the following values were counted; nil if they were not counted yet.
  var countedAge: Double?
  var queues: [Queue]?
  var hosts: [Host]?
  var hostCounts: [HostCount]?
  var batches: [Batch]?
  /// The number of all batches.
  var batchCount: Int64?
  var failures: [Failure]?

  struct Totals: Encodable, Sendable {
    var now: Double
    var unfinished, running, completed, failed, cancelled, completedBytes, rate: Int64
    var leaderRoundAge: Double?
  }

  struct Running: Encodable, Sendable {
    var job: Int64
    var path, host, queue: String
    var batch: String?
    var worker: Int64
    var machine: String
    var attempt: Int
    var bytes: Int64
    var total: Int64?
    var rate: Int64
    var secondsLeft: Double?
    var age: Double
    var command: String?
  }

  struct Worker: Encodable, Sendable {
    var worker: Int64
    var machine: String
    var pid: Int
    var version, state: String
    var running, concurrency: Int
    var rate: Int64
    var silence: Double
    var stores: [String]
    var trouble: String?
  }

  /// How many workers died, and how many stopped.
  struct Gone: Encodable, Sendable {
    var dead, stopped: Int64
  }

  struct Queue: Encodable, Sendable {
    var queue, store: String
    var paused: Bool
    var queued, interrupted, scheduled, held, running, rate: Int64
    var workers: Int
    var maxRunning: Int?
  }

  struct Host: Encodable, Sendable {
    var host: String
    var running, cap, policyCap: Int
    var waiting: Bool
    var whyIdle, blockedUntil, blockReason: String?
  }

  struct HostCount: Encodable, Sendable {
    var whyIdle: String?
    var hosts, waiting: Int64
  }

  struct Batch: Encodable, Sendable {
    var batch: String
    var jobs, completed, failed, cancelled, running, rate, bytes: Int64
    /// The sum of the downloaded fractions of all unfinished jobs' files. A complete file would add 1.
    var parts: Double
    var secondsLeft: Double?
    var steering: String?
    var paused: Bool
  }

  struct Failure: Encodable, Sendable {
    var error: String
    var jobs, lastJob: Int64
    var lastHost: String
    var lastMessage: String?
    var lastAge: Double
  }

  /// The value as one line of JSON that is safe within HTML: `<` is written as `\u003c`.
  var json: String {
    pageJSON.replacing(scalars: ["<": "\\u003c"])
  }
}

extension PageState {
  init(_ reading: PoolReader.Reading, leader: LeaderFacts, version: String) {
    self.init(
      up: reading.live != nil, trouble: reading.trouble, pool: reading.live?.pool, version: version,
      leads: leader.isLeading)
    guard let live = reading.live else { return }
    totals = Totals(live.totals)
    running = live.running.map(Running.init)
    minutes = live.minutes.map { [$0.minute, $0.bytes, $0.completed, $0.failed, $0.cancelled] }
    workers = live.workers.map(Worker.init)
    gone = Gone(
      dead: live.workerCounts.workers(.dead), stopped: live.workerCounts.workers(.stopped))
    guard let counted = reading.counted else { return }
    countedAge = reading.countedAge.map { $0 / .seconds(1) }
    queues = counted.queues.map(Queue.init)
    hosts = counted.hosts.map(Host.init)
    hostCounts = counted.hostCounts.map {
      HostCount(whyIdle: $0.whyIdle, hosts: $0.hosts, waiting: $0.waiting)
    }
    batches = counted.batches.map(Batch.init)
    batchCount = counted.batchCount
    failures = counted.failures.map(Failure.init)
  }
}

extension PageState.Totals {
  init(_ row: PoolTotals) {
    self.init(
      now: row.now, unfinished: row.unfinished, running: row.running, completed: row.completed,
      failed: row.failed, cancelled: row.cancelled, completedBytes: row.completedBytes,
      rate: row.rate, leaderRoundAge: row.leaderRoundAge)
  }
}

extension PageState.Running {
  init(_ row: RunningJob) {
    self.init(
      job: row.job, path: row.path, host: row.host, queue: row.queue, batch: row.batch,
      worker: row.worker, machine: row.machine, attempt: row.attempt, bytes: row.bytes,
      total: row.total, rate: row.rate, secondsLeft: row.secondsLeft, age: row.age,
      command: row.command)
  }
}

extension PageState.Worker {
  init(_ row: WorkerRow) {
    self.init(
      worker: row.worker, machine: row.machine, pid: row.pid, version: row.version,
      state: row.state.rawValue, running: row.running, concurrency: row.concurrency, rate: row.rate,
      silence: row.silence, stores: row.stores ?? [], trouble: row.trouble)
  }
}

extension PageState.Queue {
  init(_ row: QueueRow) {
    self.init(
      queue: row.queue, store: row.store, paused: row.paused, queued: row.queued,
      interrupted: row.interrupted, scheduled: row.scheduled, held: row.held,
      running: row.running, rate: row.rate, workers: row.workers, maxRunning: row.maxRunning)
  }
}

extension PageState.Host {
  init(_ row: HostRow) {
    self.init(
      host: row.host, running: row.running, cap: row.cap, policyCap: row.policyCap,
      waiting: row.waiting, whyIdle: row.whyIdle, blockedUntil: row.blockedUntil,
      blockReason: row.blockReason)
  }
}

extension PageState.Batch {
  init(_ row: BatchRow) {
    self.init(
      batch: row.batch, jobs: row.jobs, completed: row.completed, failed: row.failed,
      cancelled: row.cancelled, running: row.running, rate: row.rate, bytes: row.allBytes,
      parts: row.runningParts + row.waitingParts, secondsLeft: row.secondsLeft,
      steering: row.steering, paused: row.isPaused)
  }
}

extension PageState.Failure {
  init(_ row: FailureClass) {
    self.init(
      error: row.error?.rawValue ?? "unknown", jobs: row.jobs, lastJob: row.lastJob,
      lastHost: row.lastHost, lastMessage: row.lastMessage, lastAge: row.lastAge)
  }
}
