import JobModel
package import JobQueue
package import Terminal

/// A report about one job and its attempts, for `haul job` and `haul top`.
package struct JobReport: Sendable {
  package let job: JobRow
  private let attempts: [AttemptRow]
  /// The worker that runs the job now; nil if none does.
  private let worker: WorkerRow?
  /// The cause that keeps the job from starting; nil if there is none.
  private let obstacle: Obstacle?
  /// The last command with which an operator changed the job; nil if there was none.
  private let command: LastOperation?

  private static let inPart = """
    A worker that mounts the directory of the part file continues the download. After five minutes, any other worker starts the download again from the first byte.
    """

  /// Creates a report.
  package init(
    _ job: JobRow, attempts: [AttemptRow], worker: WorkerRow? = nil, obstacle: Obstacle? = nil,
    command: LastOperation? = nil
  ) {
    self.job = job
    self.attempts = attempts
    self.worker = worker
    self.obstacle = obstacle
    self.command = command
  }

  /// Reads the report of a job; nil if the database has deleted the job meanwhile because of its age.
  /// - Throws: `JobQueueError.noSuchName` for a job that does not exist.
  package static func read(_ id: Int64, from queue: JobQueue) async throws -> JobReport? {
    var selector = JobSelector()
    selector.ids = [id]
    guard let job = try await queue.jobs(selector, limit: 1).first else { return nil }
    let attempts = try await queue.attempts(of: id)
    let command = try await queue.lastOperation(on: job)
    if let holder = job.worker {
      return JobReport(
        job, attempts: attempts, worker: try await queue.worker(holder), command: command)
    }
    // The state column already says that a job is paused or waits for its first start.
    let isRetried = job.state == .scheduled && job.lastError != nil
    guard job.state == .queued || job.state == .interrupted || isRetried else {
      return JobReport(job, attempts: attempts, command: command)
    }
    if isRetried {
      let found = try await queue.causes(of: selector, counts: [(.scheduled, 1)]).causes
      return JobReport(
        job, attempts: attempts, obstacle: found.causes.first(where: AskedJobs.isTold),
        command: command)
    }
    let obstacle = try await queue.obstacle(to: AwaitedJobs(batches: [], others: [id]))
    return JobReport(job, attempts: attempts, obstacle: obstacle, command: command)
  }

  private var listing: Listing<JobRow> {
    // The machine of the worker that runs the job or ran it last. If machines have separate disks, this one has the file.
    let machine = JobRow.Column(
      "MACHINE", key: "machine",
      value: { [worker, attempts] _ in .text(worker?.machine ?? attempts.last?.machine) })
    let process = JobRow.Column(
      "PID", key: "pid", .right, value: { [worker] _ in .number(worker?.pid) })
    // The error of a job that failed, or of the last attempt if the job waits because of it. A job that runs again or was
    // queued again needs no advice.
    let trouble = job.error ?? (job.state == .scheduled ? attempts.last?.error : nil)
    let advice = JobRow.Column(
      "WHAT TO DO", key: "advice",
      value: { row in
        .text(
          trouble.flatMap(ErrorTable.advice) ?? (row.state == .interrupted ? Self.inPart : nil))
      })
    let waits = JobRow.Column(
      "DOES NOT START", key: "obstacle",
      value: { [obstacle] row in
        .text(
          row.state == .paused
            ? "the job is paused. Resume it with: haul resume \(row.job)"
            : obstacle?.sentenceWithoutAdvice(of: "\(row.job)"))
      })
    let tries = JobRow.Column(
      "ATTEMPTS", key: "counted_attempts",
      value: { [attempts] _ in
        .number(attempts.isEmpty ? nil : attempts.count(where: \.isCounted))
      },
      text: { [attempts] row in Self.tries(attempts, row) })
    let last = JobRow.Column(
      command?.isCertain == false ? "LAST KNOWN COMMAND" : "LAST COMMAND", key: "last_command",
      value: { [operation = command?.operation] _ in .number(operation?.id) },
      text: { [operation = command?.operation] _ in
        operation.map { "\($0.action), by \($0.login). See: haul history \($0.id)" } ?? ""
      })
    return Listing(
      JobRow.columns + JobRow.moreColumns + [machine, process, tries, last, waits, advice])
  }

  /// Returns the number of failed attempts and its maximum as text, such as `3 of 5, and 6 that do not count`.
  private static func tries(_ attempts: [AttemptRow], _ job: JobRow) -> String {
    var most = JobOptions.usualMaxAttempts
    if case .number(let number)? = job.options?[JobOption.maxAttempts.rawValue] {
      most = Int(number)
    }
    let counted = attempts.count(where: \.isCounted)
    let others = attempts.count { !$0.isCounted && $0.result == .failed }
    let rest = others == 1 ? "1 that does not count" : "\(others) that do not count"
    return "\(counted) of \(most)" + (others > 0 ? ", and \(rest)" : "")
  }

  private static let history = Listing(AttemptRow.columns, note: AttemptRow.note)

  /// The report as members of a JSON object.
  package var members: [JSONValue.Member] {
    let history = Listing(AttemptRow.columns + AttemptRow.moreColumns)
    let objects = attempts.map { JSONValue.object(history.members($0)) }
    return listing.members(job) + [.init("attempts", .array(objects))]
  }

  /// Returns the report for people: one line for each fact, and a table of the attempts.
  package func text(on screen: Screen) -> String {
    let table = attempts.isEmpty ? "" : "\n" + Self.history.table(attempts, on: screen)
    return listing.facts(job, on: screen) + table
  }

  /// Returns the facts and the table for a full screen that is `columns` wide. Long facts continue on the next line.
  package func lines(columns: Int) -> [StyledLine] {
    let table = attempts.isEmpty ? "" : Self.history.table(attempts, on: Screen(width: columns))
    let rows = table.split(separator: "\n").enumerated().map { index, row in
      StyledLine(String(row), index == 0 ? .bold : nil)
    }
    return listing.factLines(job, columns: columns) + (rows.isEmpty ? [] : [StyledLine()] + rows)
  }
}
