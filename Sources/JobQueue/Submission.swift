package import JobModel

/// One job to submit.
package struct SubmitLine: Sendable {
  /// The number of the line it came from, for messages.
  package var line: Int
  package var url: String
  /// The host it counts against, as `name` or `name:port`.
  package var host: String
  /// Final place below the store's root.
  package var path: String
  /// 0 (first) to 9; nil for the submission's.
  package var priority: Int?
  /// Wishes of this line; they go before those of the submission.
  package var options: JobOptions?

  /// A line made of its parts.
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

/// What all lines of a submission share.
package struct Submission: Sendable {
  /// What to do with a line whose path an earlier job has.
  package enum OnDuplicate: String, Sendable, CaseIterable {
    /// A line with the same URL means that job, which is queued again if it had failed. Another URL is an error.
    case skip
    /// Like `skip`, but a completed job asks its source whether the file has changed, and replaces the file if so. A job
    /// that waits or runs is left alone: it downloads what the source has then.
    case refresh
    /// The line takes the job over. A running job is stopped first.
    case replace
    /// An error, whatever its URL.
    case error
  }

  package var queue: String
  package var batch: String?
  /// 0 (first) to 9.
  package var priority: Int
  package var options: JobOptions
  /// Not before this long from now.
  package var after: Duration?
  package var onDuplicate = OnDuplicate.skip
  /// Whether ``OnDuplicate/replace`` leaves completed and cancelled jobs as they are.
  package var keepsEnded = false
  /// Leave out lines that contradict each other or existing jobs, instead of refusing all.
  package var skipsConflicts = false
  /// Whether ``SubmitReply/others`` are wanted.
  package var wantsOthers = false

  /// A submission made of its parts.
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

/// How far a submission is.
package enum SubmissionStep: Sendable, Equatable {
  /// This many lines are staged; no job exists yet.
  case staged(Int)
  /// All lines are staged and are being compared with each other and with existing jobs.
  case checking
  /// This many of the staged lines are jobs, or were.
  case submitted(Int, of: Int)
  /// This many lines wait until running jobs stop, because they take over their paths.
  case waiting(Int)
}

/// A line that contradicts an earlier line, a job that is there or itself.
package struct SubmitConflict: Sendable, Decodable, Equatable {
  package let line: Int
  package let path: String
  /// The line that has the path first.
  package let otherLine: Int?
  /// Else the job that has it.
  package let job: Int64?
  /// Else whether other lines need it as a directory.
  package let directory: Bool
  /// The host that the line names, if it is not that of its URL.
  package let host: String?

  /// A conflict made of its parts.
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

/// What of a submission cannot become jobs.
package struct SubmitConflicts: Sendable, Decodable, Equatable {
  package let count: Int
  /// How many jobs were left out with these lines; 0 where nothing was to be left out. One line may name several URLs.
  package let removed: Int
  /// The first twenty by line.
  package let first: [SubmitConflict]

  /// Conflicts made of their parts.
  package init(count: Int, removed: Int = 0, first: [SubmitConflict]) {
    self.count = count
    self.removed = removed
    self.first = first
  }
}

/// What came of a submission.
package struct SubmitReply: Sendable, Equatable {
  /// Jobs that an earlier submission has made somewhere else.
  package struct Elsewhere: Sendable, Decodable, Equatable {
    package enum Kind: String, Sendable, Decodable { case batch, queue }

    package let kind: Kind
    /// The name of the batch or queue; nil for no batch.
    package let name: String?
    package let jobs: Int
  }

  /// Jobs that have left a batch for this submission's.
  package struct Moved: Sendable, Decodable, Equatable {
    package let batch: String
    package let jobs: Int
  }

  /// Whether a worker has something to do for it.
  package var hasWork: Bool { submitted + requeued + refreshed + replaced > 0 }

  package internal(set) var submitted = 0
  /// Lines whose path and URL an earlier job has.
  package internal(set) var skipped = 0
  /// Jobs that had failed or been cancelled and are queued again.
  package internal(set) var requeued = 0
  /// Completed jobs that ask their sources again.
  package internal(set) var refreshed = 0
  /// Jobs that a line has taken over.
  package internal(set) var replaced = 0
  /// Skipped, requeued and refreshed jobs that are in another batch than the submission's, if it has one, or in another
  /// queue.
  package internal(set) var elsewhere: [Elsewhere] = []
  /// Skipped jobs whose line demands a digest that the job does not demand and the file is not known to have.
  package internal(set) var unchecked = 0
  /// Skipped jobs that lack an option of their line, other than a digest or a length.
  package internal(set) var unapplied = 0
  /// What ``replaced`` jobs have left.
  package internal(set) var moved: [Moved] = []
  /// The least and the greatest id of the jobs that the lines are now or met.
  package internal(set) var ids: ClosedRange<Int64>?
  /// Ids of the jobs in another batch, where the caller asked for them.
  package internal(set) var others: [Int64] = []
  /// The lines that were left out.
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

/// What `haul.submit` gives.
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

  /// The lines that it is about.
  var lines: Int { submitted + skipped + requeued + refreshed }
}

/// What `haul.replace` gives.
struct ReplaceReply: Sendable, Decodable {
  let replaced: Int
  let skipped: Int
  let waiting: Int
  let moved: [SubmitReply.Moved]
  let first: Int64?
  let last: Int64?
  let left: Int
}

/// Why a submission came to nothing, or not to all.
package enum SubmissionError: Error, Sendable, Equatable {
  /// Lines contradict each other or existing jobs. No job was submitted.
  case conflicts(SubmitConflicts)
  /// The check found no conflict, but another submission was faster. This many lines had been submitted before.
  case overtaken(String, submitted: Int)
  /// The database has counted another number of lines than it was given: some may be lost.
  case miscounted(Int, of: Int)
}

extension SubmitConflict {
  /// What is wrong with the line: a sentence without its number.
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
  /// Whether it is no fault of the lines.
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
      "the database was given \(lines) URL\(lines == 1 ? "" : "s") and has counted \(counted), so some may not be jobs"
    }
  }
}
