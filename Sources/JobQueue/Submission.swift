package import JobModel

/// A line of a submission, which becomes one job.
package struct SubmitLine: Sendable {
  /// The number of the line in the user's list, for messages.
  package var line: Int
  package var url: String
  /// The host whose limits apply to the job, as `name` or `name:port`.
  package var host: String
  /// The path of the finished file, below the store's root.
  package var path: String
  /// The priority from 0 (first) to 9; nil means the priority of the submission.
  package var priority: Int?
  /// The options of this line. They take precedence over the options of the submission.
  package var options: JobOptions?

  /// Creates a line of a submission.
  package init(
    line: Int, url: String, host: String, path: String, priority: Int? = nil,
    options: JobOptions? = nil
  ) {
    self.line = line
    self.url = url
    self.host = host
    self.path = path
    self.priority = priority
    self.options = options
  }
}

/// The settings for all lines of a submission.
package struct Submission: Sendable {
  /// The action for a line whose path belongs to an earlier job.
  package enum OnDuplicate: String, Sendable, CaseIterable {
    /// If the line has the earlier job's URL, the line creates no job, and the earlier job stays. If the earlier job failed or
    /// was cancelled, Haul queues it again. A line with another URL is an error.
    case skip
    /// Like `skip`, but a completed job asks its source whether the file has changed. If it has changed, the job downloads the
    /// new file, which replaces the old one. A waiting or running job does not change, because it downloads the current file
    /// anyway.
    case refresh
    /// The earlier job becomes the job of the line, with the line's URL and options. If the earlier job is running, Haul stops
    /// it first.
    case replace
    /// A line with the path of an earlier job is an error, even if it has the same URL as that job.
    case error
  }

  package var queue: String
  package var batch: String?
  /// The priority from 0 (first) to 9.
  package var priority: Int
  package var options: JobOptions
  /// The minimum time from now until the jobs start; nil for no delay.
  package var after: Duration?
  package var onDuplicate = OnDuplicate.skip
  /// Whether ``OnDuplicate/replace`` leaves completed and cancelled jobs unchanged.
  package var keepsEnded = false
  /// Whether to skip lines that contradict each other or existing jobs. If false, such lines stop the whole submission.
  package var skipsConflicts = false
  /// Whether the reply must list ``SubmitReply/others``.
  package var wantsOthers = false

  /// Creates the settings of a submission.
  package init(
    queue: String, batch: String? = nil, priority: Int = 5, options: JobOptions = JobOptions(),
    after: Duration? = nil
  ) {
    self.queue = queue
    self.batch = batch
    self.priority = priority
    self.options = options
    self.after = after
  }
}

/// The progress of a submission.
package enum SubmissionStep: Sendable, Equatable {
  /// The number of lines that the database has received. No job exists yet.
  case staged(Int)
  /// The database has received all lines, and compares them with each other and with existing jobs.
  case checking
  /// The number of received lines that have become jobs, or whose jobs already exist.
  case submitted(Int, of: Int)
  /// The number of lines whose paths belong to running jobs. The submission waits until these jobs stop, and then replaces
  /// them.
  case waiting(Int)
}

/// A line that contradicts an earlier line, an existing job or itself.
package struct SubmitConflict: Sendable, Decodable, Equatable {
  package let line: Int
  package let path: String
  /// The number of the earlier line with the same path; nil if no earlier line has the path.
  package let otherLine: Int?
  /// The id of the existing job with the line's path; nil if no job has the path, or if ``otherLine`` has it.
  package let job: Int64?
  /// Whether other lines need the path as a directory. True only if no other line and no job has exactly this path.
  package let directory: Bool
  /// Whether a completed job with the line's path was removed; nil in earlier versions of the database.
  package let removed: Bool?
  /// The host that the line states, if it differs from the host of the line's URL; otherwise nil.
  package let host: String?

  /// Creates a conflict of one line.
  package init(
    line: Int, path: String, otherLine: Int?, job: Int64?, directory: Bool = false,
    removed: Bool = false, host: String? = nil
  ) {
    self.line = line
    self.path = path
    self.otherLine = otherLine
    self.job = job
    self.directory = directory
    self.removed = removed
    self.host = host
  }
}

/// The lines of a submission that cannot become jobs.
package struct SubmitConflicts: Sendable, Decodable, Equatable {
  package let count: Int
  /// The number of jobs that the skipped lines would have created; 0 unless the submission skips conflicts. One line may create
  /// several jobs, because it may name several URLs.
  package let removed: Int
  /// The first 20 conflicts in the order of their lines.
  package let first: [SubmitConflict]

  /// Creates conflicts from their number and the first of them.
  package init(count: Int, removed: Int = 0, first: [SubmitConflict]) {
    self.count = count
    self.removed = removed
    self.first = first
  }
}

/// The result of a submission.
package struct SubmitReply: Sendable, Equatable {
  /// A batch or queue other than the submission's, and the number of jobs in it that match lines of the submission.
  package struct Elsewhere: Sendable, Decodable, Equatable {
    package enum Kind: String, Sendable, Decodable { case batch, queue }

    package let kind: Kind
    /// The name of the other batch or queue; nil for jobs without a batch.
    package let name: String?
    package let jobs: Int
  }

  /// The number of jobs that moved from one other batch to the batch of this submission.
  package struct Moved: Sendable, Decodable, Equatable {
    package let batch: String
    package let jobs: Int
  }

  /// Whether the submission created or queued jobs for workers.
  package var hasWork: Bool { submitted + requeued + refreshed + replaced > 0 }

  package internal(set) var submitted = 0
  /// The number of lines that created no job because an earlier job has the same path and URL.
  package internal(set) var skipped = 0
  /// The number of failed or cancelled jobs that were queued again.
  package internal(set) var requeued = 0
  /// The number of completed jobs that will ask their sources for a newer file.
  package internal(set) var refreshed = 0
  /// The number of existing jobs that now have the URL and options of lines of the submission.
  package internal(set) var replaced = 0
  /// The numbers of skipped, requeued and refreshed jobs in other queues, one element for each queue. If the submission has a
  /// batch, there is also one element for each other batch that has such jobs.
  package internal(set) var elsewhere: [Elsewhere] = []
  /// The number of skipped jobs that do not check the digest that their line requires. The file of such a job may have another
  /// digest.
  package internal(set) var unchecked = 0
  /// The number of skipped jobs that lack an option that their line sets. Digest and length do not count.
  package internal(set) var unapplied = 0
  /// The batches that the ``replaced`` jobs were in before.
  package internal(set) var moved: [Moved] = []
  /// The range of ids of all jobs that the lines created or already had; nil if there are none.
  package internal(set) var ids: ClosedRange<Int64>?
  /// The ids of the existing jobs that match lines of the submission but are in another batch. Empty unless
  /// ``Submission/wantsOthers`` is true.
  package internal(set) var others: [Int64] = []
  /// The lines that were skipped because of conflicts.
  package internal(set) var conflicts: SubmitConflicts

  private mutating func widen(_ first: Int64?, _ last: Int64?) {
    guard let first, let last else { return }
    ids = min(first, ids?.lowerBound ?? first)...max(last, ids?.upperBound ?? last)
  }

  mutating func add(_ chunk: ReplaceReply) {
    replaced += chunk.replaced
    skipped += chunk.skipped
    widen(chunk.first, chunk.last)
    for new in chunk.moved {
      let old = moved.firstIndex { $0.batch == new.batch }
      let before = old.map { moved.remove(at: $0).jobs } ?? 0
      moved.append(Moved(batch: new.batch, jobs: before + new.jobs))
    }
  }

  mutating func add(_ chunk: SubmitChunkReply) {
    widen(chunk.first, chunk.last)
    submitted += chunk.submitted
    skipped += chunk.skipped
    requeued += chunk.requeued
    refreshed += chunk.refreshed
    unchecked += chunk.unchecked
    unapplied += chunk.unapplied
    others += chunk.others.joined()
    for new in chunk.elsewhere {
      let old = elsewhere.firstIndex { $0.kind == new.kind && $0.name == new.name }
      let before = old.map { elsewhere.remove(at: $0).jobs } ?? 0
      elsewhere.append(Elsewhere(kind: new.kind, name: new.name, jobs: before + new.jobs))
    }
  }
}

/// The reply of the SQL function `haul.submit`.
struct SubmitChunkReply: Sendable, Decodable {
  let submitted: Int
  let skipped: Int
  let requeued: Int
  let refreshed: Int
  let unchecked: Int
  let unapplied: Int
  let elsewhere: [SubmitReply.Elsewhere]
  let others: [[Int64]]
  let first: Int64?
  let last: Int64?
  let left: Bool

  /// The number of lines that this reply covers.
  var lines: Int { submitted + skipped + requeued + refreshed }
}

/// The reply of the SQL function `haul.replace`.
struct ReplaceReply: Sendable, Decodable {
  let replaced: Int
  let skipped: Int
  let waiting: Int
  let moved: [SubmitReply.Moved]
  let first: Int64?
  let last: Int64?
  let left: Int
}

/// The reason why a submission failed as a whole or in part.
package enum SubmissionError: Error, Sendable, Equatable {
  /// Lines contradict each other or existing jobs. No job was submitted.
  case conflicts(SubmitConflicts)
  /// The check found no conflict, but another submission then created a job with the path of a line. `submitted` lines had
  /// already become jobs.
  case overtaken(String, submitted: Int)
  /// The database counted a different number of lines than this program sent. Some lines may be lost.
  case miscounted(Int, of: Int)
}

extension SubmitConflict {
  /// Returns a sentence that describes the conflict, without the number of the line.
  package func sentence(_ onDuplicate: Submission.OnDuplicate) -> String {
    if let host { return "\"\(host)\" is not the host of the URL on this line." }
    if directory {
      return
        "other lines use the path \"\(path)\" as a directory. Give this line another path."
    }
    if removed == true {
      return onDuplicate == .error
        ? "a completed job, which was removed, has the path \"\(path)\"."
        : "a completed job, which was removed, downloaded another URL to the path \"\(path)\". Give this line another path, or replace the file with --on-duplicate replace."
    }
    let owner = otherLine.map { "line \($0)" } ?? "job \(job ?? 0)"
    return onDuplicate == .error
      ? "\(owner) already has the path \"\(path)\"."
      : "\(owner) already downloads another URL to the path \"\(path)\". Give this line another path"
        + (otherLine == nil ? ", or replace the job with --on-duplicate replace." : ".")
  }
}

extension SubmissionError {
  /// Whether the database caused the error, and not the lines.
  package var isOfDatabase: Bool {
    if case .miscounted = self { true } else { false }
  }
}

extension SubmissionError: CustomStringConvertible {
  package var description: String {
    switch self {
    case .conflicts(let conflicts):
      conflicts.first.first.map { "line \($0.line): \($0.sentence(.skip))" }
        ?? "some lines contradict each other"
    case .overtaken(let message, _): message
    case .miscounted(let counted, let lines):
      "Haul sent \(lines) URL\(lines == 1 ? "" : "s") to the database, but the database counted \(counted). It is possible that some URLs did not become jobs"
    }
  }
}
