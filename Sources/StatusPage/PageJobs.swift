import FoundationEssentials
import JobModel
import JobQueue

/// Jobs in the form that the page's script reads. Keys are columns of the views. Times are in the database's format.
struct PageJobs: Encodable, Sendable {
  var jobs: [Job]
  /// The upper bound for the ids of older jobs; nil if there are no older jobs.
  var older: Int64?

  struct Job: Encodable, Sendable {
    var job: Int64
    var state: String?
    var path, url, host, queue, store: String
    var batch: String?
    var priority: Int
    var bytes: Int64
    var total: Int64?
    var submittedAt: String
    var runAt, finishedAt: String?
    var worker: Int64?
    var digest, mediaType, error, message: String?
  }

  struct Attempt: Encodable, Sendable {
    var attempt: Int
    var result: String
    var worker: Int64
    var machine: String?
    var startedAt: String
    var seconds: Double
    var resumedAt, fetched: Int64
    var error, message: String?
  }

  /// A job with its attempts, the latest first.
  struct Detail: Encodable, Sendable {
    var job: Job
    var attempts: [Attempt]
  }
}

extension PageJobs {
  init(_ page: JobPage) {
    self.init(jobs: page.rows.map(Job.init), older: page.older)
  }
}

extension PageJobs.Job {
  init(_ row: JobRow) {
    self.init(
      job: row.job, state: row.state?.rawValue, path: row.path, url: row.url, host: row.host,
      queue: row.queue, store: row.store, batch: row.batch, priority: row.priority,
      bytes: row.bytes, total: row.total, submittedAt: row.submittedAt, runAt: row.runAt,
      finishedAt: row.finishedAt, worker: row.worker, digest: row.digest, mediaType: row.mediaType,
      error: (row.error ?? row.lastError)?.rawValue, message: row.message)
  }
}

extension PageJobs.Attempt {
  init(_ row: AttemptRow) {
    self.init(
      attempt: row.attempt, result: row.result.rawValue, worker: row.worker, machine: row.machine,
      startedAt: row.startedAt, seconds: row.seconds, resumedAt: row.resumedAt,
      fetched: row.fetched, error: row.error?.rawValue, message: row.message)
  }
}

extension Encodable {
  /// The value as one line of JSON.
  var pageJSON: String {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.withoutEscapingSlashes]
    guard let data = try? encoder.encode(self) else { return "{}" }
    return String(decoding: data, as: UTF8.self)
  }
}
