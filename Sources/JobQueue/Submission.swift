package import JobModel

/// One job to submit.
package struct SubmitLine: Sendable {
  /// The number of the line in its source, for messages.
  package var line: Int
  package var url: String
  /// The host whose limits the job counts against: `name` or `name:port`.
  package var host: String
  /// The path of the finished file, below the store's root.
  package var path: String
  /// The priority from 0 (first) to 9; nil means the priority of the submission.
  package var priority: Int?
  /// The options of this line. They take precedence over those of the submission.
  package var options: JobOptions?

  /// Creates a line.
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

/// The settings that all lines of a submission share.
package struct Submission: Sendable {
  /// The treatment of a line whose path belongs to an earlier job.
  package enum OnDuplicate: String, Sendable, CaseIterable {
    /// A line with the same URL stands for that job. If the job had failed, it is queued again. Another URL is an error.
    case skip
    /// As `skip`, but a completed job asks its source whether the file has changed. If so, the job replaces the file. A job
    /// that waits or runs stays unchanged, because it downloads the current file anyway.
    case refresh
    /// The line takes over the job. A running job is stopped first.
    case replace
    /// A line with the path of a job is an error, even if the URL is the same.
    case error
  }

  package var queue: String
  package var batch: String?
  /// The priority from 0 (first) to 9.
  package var priority: Int
  package var options: JobOptions
  /// The minimum time from now until the jobs start; nil = none.
  package var after: Duration?
  package var onDuplicate = OnDuplicate.skip
  /// Whether ``OnDuplicate/replace`` leaves completed and cancelled jobs as they are.
  package var keepsEnded = false
  /// Whether lines that contradict each other or existing jobs are left out. Otherwise they stop the whole submission.
  package var skipsConflicts = false
  /// Whether the reply lists ``SubmitReply/others``.
  package var wantsOthers = false

  /// Creates a submission.
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
  /// This many lines are staged; no job exists yet.
  case staged(Int)
  /// All lines are staged and are being compared with each other and with existing jobs.
  case checking
  /// This many of the staged lines have become jobs or stand for existing jobs.
  case submitted(Int, of: Int)
  /// This many lines wait until running jobs stop, because they take over their paths.
  case waiting(Int)
}

/// A line that contradicts an earlier line, an existing job or itself.
package struct SubmitConflict: Sendable, Decodable, Equatable {
  package let line: Int
  package let path: String
  /// The earlier line with the path; nil if there is none.
  package let otherLine: Int?
  /// The job with the path, if no other line has it.
  package let job: Int64?
  /// Whether other lines need the path as a directory, if no line and no job has the path.
  package let directory: Bool
  /// The host that the line names, if it differs from the host of its URL.
  package let host: String?

  /// Creates a conflict.
  package init(
    line: Int, path: String, otherLine: Int?, job: Int64?, directory: Bool = false,
    host: String? = nil
  ) {
    self.line = line
    self.path = path
    self.otherLine = otherLine
    self.job = job
    self.directory = directory
    self.host = host
  }
}

/// The lines of a submission that cannot become jobs.
package struct SubmitConflicts: Sendable, Decodable, Equatable {
  package let count: Int
  /// The number of jobs that were left out with these lines; 0 unless conflicts are skipped. One line may name several URLs.
  package let removed: Int
  /// The first twenty conflicts in the order of their lines.
  package let first: [SubmitConflict]

  /// Creates conflicts.
  package init(count: Int, removed: Int = 0, first: [SubmitConflict]) {
    self.count = count
    self.removed = removed
    self.first = first
  }
}

/// The result of a submission.
package struct SubmitReply: Sendable, Equatable {
  /// Existing jobs that belong to another batch or queue than the submission's.
  package struct Elsewhere: Sendable, Decodable, Equatable {
    package enum Kind: String, Sendable, Decodable { case batch, queue }

    package let kind: Kind
    /// The name of the batch or queue; nil for no batch.
    package let name: String?
    package let jobs: Int
  }

  /// Jobs that moved from another batch to that of this submission.
  package struct Moved: Sendable, Decodable, Equatable {
    package let batch: String
    package let jobs: Int
  }

  /// Whether the submission gave workers anything to do.
  package var hasWork: Bool { submitted + requeued + refreshed + replaced > 0 }

  package internal(set) var submitted = 0
  /// The number of lines that stand for an earlier job with the same path and URL.
  package internal(set) var skipped = 0
  /// The number of failed or cancelled jobs that were queued again.
  package internal(set) var requeued = 0
  /// The number of completed jobs that ask their sources again.
  package internal(set) var refreshed = 0
  /// The number of jobs that lines took over.
  package internal(set) var replaced = 0
  /// The skipped, requeued and refreshed jobs that are in another batch than the submission's, if it has one, or in another
  /// queue.
  package internal(set) var elsewhere: [Elsewhere] = []
  /// The number of skipped jobs whose line requires a digest that the job does not require and the file may not have.
  package internal(set) var unchecked = 0
  /// The number of skipped jobs that lack an option of their line, other than a digest or a length.
  package internal(set) var unapplied = 0
  /// The batches that the ``replaced`` jobs have left.
  package internal(set) var moved: [Moved] = []
  /// The lowest and the highest id of the jobs that the lines created or stand for.
  package internal(set) var ids: ClosedRange<Int64>?
  /// The ids of jobs in another batch, if the caller asked for them.
  package internal(set) var others: [Int64] = []
  /// The lines that were left out because of conflicts.
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

/// The reply of `haul.submit`.
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

/// The reply of `haul.replace`.
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
  /// The check found no conflict, but then another submission took a path. `submitted` lines became jobs before that.
  case overtaken(String, submitted: Int)
  /// The database counted another number of lines than it was given. Some lines may be lost.
  case miscounted(Int, of: Int)
}

extension SubmitConflict {
  /// Returns what is wrong with the line, as a sentence without the line number.
  package func sentence(_ onDuplicate: Submission.OnDuplicate) -> String {
    if let host { return "\"\(host)\" is not the host of its URL." }
    if directory {
      return
        "the path \"\(path)\" is a directory of other lines' paths. Give this line another path."
    }
    let owner = otherLine.map { "line \($0)" } ?? "job \(job ?? 0)"
    return onDuplicate == .error
      ? "\(owner) has the path \"\(path)\" already."
      : "\(owner) already downloads another URL to the path \"\(path)\". Give this line another path"
        + (otherLine == nil ? ", or let it take the job over with --on-duplicate replace." : ".")
  }
}

extension SubmissionError {
  /// Whether the database and not the lines are at fault.
  package var isOfDatabase: Bool {
    if case .miscounted = self { true } else { false }
  }
}

extension SubmissionError: CustomStringConvertible {
  package var description: String {
    switch self {
    case .conflicts(let conflicts):
      conflicts.first.first.map { "line \($0.line): \($0.sentence(.skip))" }
        ?? "lines contradict each other"
    case .overtaken(let message, _): message
    case .miscounted(let counted, let lines):
      "Haul sent \(lines) URL\(lines == 1 ? "" : "s") to the database, but the database counted \(counted). Some URLs may not have become jobs"
    }
  }
}
