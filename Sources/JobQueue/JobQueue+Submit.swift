import Postgres

extension JobQueue {
  /// The maximum number of lines that become jobs in one transaction. With a larger number, other submissions for the same
  /// hosts or paths wait longer. The database keeps one record, called a lane, of the waiting jobs of each queue and host. With
  /// a smaller number, a submission with many lines for one host updates the host's lane more often.
  package static let submitLimit = 100_000
  /// The time between two checks of running jobs that were asked to stop.
  private static let patience = Duration.milliseconds(500)

  /// Submits the lines of `pieces`, and keeps only a few pieces in memory. The jobs are durable on return. Lines that are
  /// already jobs are skipped, so that a submission can be repeated.
  ///
  /// All lines are read, stored in the database and checked before the first job exists. Up to ``submitLimit`` lines are then
  /// submitted in one transaction. More lines need several transactions. If such a submission is interrupted, the jobs of
  /// complete transactions stay.
  ///
  /// - Parameters:
  ///   - pieces: the lines, a few thousand in each piece. An error from this sequence ends the submission, and nothing is
  ///     submitted.
  ///   - isRefused: called after the last piece. If it returns true, nothing is submitted and the function throws `conflicts`.
  ///     The error lists the conflicts that the check found; there may be none.
  ///   - renewal: the interval between renewals of the submission, also while it waits for `pieces`. The database ends a
  ///     submission that is not renewed for two minutes; the function then throws `JobQueueError.busy`.
  ///   - observe: gets the progress.
  /// - Throws: `SubmissionError`; `JobQueueError.noSuchName` if the queue does not exist; any error of `pieces`.
  ///   `SubmissionError.miscounted` may also be thrown after jobs were created.
  package func submit<Pieces: AsyncSequence & Sendable>(
    _ submission: Submission, _ pieces: Pieces, isRefused: @Sendable () -> Bool = { false },
    renewal: Duration = .seconds(20), observe: @Sendable (SubmissionStep) -> Void = { _ in }
  ) async throws -> SubmitReply where Pieces.Element == [SubmitLine] {
    let key: String = try await call("SELECT haul.begin_submission($1, true)", [submission.queue])
    let renewals = Task {
      while true {
        try await Task.sleep(for: renewal)
        // An error here only ends this task. The next step of the submission then fails too.
        try await renew(key)
      }
    }
    defer { renewals.cancel() }
    do {
      let staged = try await stage(pieces, key, observe)
      observe(.checking)
      var reply = SubmitReply(conflicts: try await check(submission, key, staged))
      if isRefused() || reply.conflicts.count > 0 && !submission.skipsConflicts {
        throw SubmissionError.conflicts(reply.conflicts)
      }
      let lines = staged - reply.conflicts.removed
      let done = try await makeJobs(submission, key, lines, &reply, observe)
      if done != lines { throw SubmissionError.miscounted(done, of: lines) }
      try await end(key)
      return reply
    } catch {
      // If the connection is lost, the leader removes the staged lines.
      try? await end(key)
      throw error
    }
  }

  private func end(_ key: String) async throws {
    try await rows("SELECT haul.end_submission($1::uuid)", [key])
  }

  /// Tells the database that the sender of this submission is alive. Locks the submission until the end of the transaction.
  func renew(_ key: String) async throws {
    try await rows("SELECT haul.renew_submission($1::uuid)", [key])
  }

  /// Stages each piece while the sequence makes the next one, and returns the number of staged lines.
  private func stage<Pieces: AsyncSequence & Sendable>(
    _ pieces: Pieces, _ key: String, _ observe: @Sendable (SubmissionStep) -> Void
  ) async throws -> Int where Pieces.Element == [SubmitLine] {
    try await withThrowingTaskGroup(of: Void.self) { group in
      var staged = 0
      for try await lines in pieces {
        try await group.next()
        observe(.staged(staged))
        staged += lines.count
        group.addTask {
          try await connection.transaction { try await JobQueue($0).stage(lines, key) }
        }
      }
      try await group.next()
      observe(.staged(staged))
      return staged
    }
  }

  /// Adds lines to a submission, in an open transaction.
  func stage(_ lines: [SubmitLine], _ key: String) async throws {
    try await renew(key)
    do {
      _ = try await connection.copyIn(
        "COPY haul.staging (submission, line, url, host, path, priority, options) FROM STDIN",
        CopyChunks(key: key, lines: lines))
    } catch let error as PostgresError {
      throw JobQueueError(error) ?? error
    }
    try await renew(key)
  }

  /// Checks the lines of a submission. All `staged` lines must exist.
  func check(
    _ submission: Submission, _ key: String, _ staged: Int
  ) async throws -> SubmitConflicts {
    try await callJSON(
      "SELECT haul.check_submission($1::uuid, $2, $3, $4, 20, $5)",
      [key, submission.queue, submission.onDuplicate.rawValue, submission.skipsConflicts, staged])
  }

  /// Creates jobs from the staged lines, and returns the number of lines that the database counted.
  private func makeJobs(
    _ submission: Submission, _ key: String, _ lines: Int, _ reply: inout SubmitReply,
    _ observe: @Sendable (SubmissionStep) -> Void
  ) async throws -> Int {
    var done = 0
    while true {
      try await makeRoom()
      do {
        var room = Self.submitLimit
        var waiting = 0
        if submission.onDuplicate == .replace {
          let chunk = try await replaceChunk(submission, key)
          reply.add(chunk)
          done += chunk.replaced + chunk.skipped
          (room, waiting) = (chunk.left, chunk.waiting)
        }
        let chunk = try await submitChunk(submission, key, limit: room)
        reply.add(chunk)
        done += chunk.lines
        observe(.submitted(done, of: lines))
        if !chunk.left { return done }
        // Only lines whose jobs are still running are left.
        if room == 0, waiting > 0 {
          observe(.waiting(waiting))
          try await Task.sleep(for: Self.patience)
        }
      } catch JobQueueError.pathTaken(let message, let hint) {
        throw SubmissionError.overtaken(
          hint.map { "\(message). \($0)" } ?? message, submitted: done)
      }
    }
  }

  /// Makes partitions for the next step, and for the steps of concurrent submissions. They are committed before the step, so
  /// that no submission waits until another one ends.
  private func makeRoom() async throws {
    do {
      try await ensurePartitions(room: Int64(11 * Self.submitLimit))
    } catch let error as PostgresError where error.sqlState == .lockNotAvailable {
      // Another session makes the partitions, or holds a lock for a long time. The step itself checks whether there is room.
    }
  }

  func submitChunk(
    _ submission: Submission, _ key: String, limit: Int
  ) async throws -> SubmitChunkReply {
    try await callJSON(
      "SELECT haul.submit($1::uuid, $2, $3, $4::smallint, $5::jsonb, $6::interval, $7, $8, $9::int)",
      try Self.parameters(of: submission, key) + [
        submission.onDuplicate.rawValue, submission.wantsOthers, limit,
      ])
  }

  private func replaceChunk(_ submission: Submission, _ key: String) async throws -> ReplaceReply {
    try await callJSON(
      "SELECT haul.replace($1::uuid, $2, $3, $4::smallint, $5::jsonb, $6::interval, $7::int, $8)",
      try Self.parameters(of: submission, key) + [Self.submitLimit, submission.keepsEnded])
  }

  /// Returns key, queue, batch, priority, options and delay, in this order.
  private static func parameters(
    of submission: Submission, _ key: String
  ) throws -> [(any PostgresEncodable)?] {
    [
      key, submission.queue, submission.batch, submission.priority, try json(submission.options),
      submission.after.map { "\($0 / .seconds(1)) seconds" },
    ]
  }
}

/// Submission lines in COPY's text format, in chunks of a thousand lines.
private struct CopyChunks: AsyncSequence, Sendable {
  typealias Element = [UInt8]
  let key: String
  let lines: [SubmitLine]

  struct AsyncIterator: AsyncIteratorProtocol {
    let key: String
    let lines: [SubmitLine]
    var next = 0

    mutating func next() async throws -> [UInt8]? {
      if next >= lines.count { return nil }
      var chunk: [UInt8] = []
      for line in lines[next..<Swift.min(next + 1000, lines.count)] {
        chunk.append(contentsOf: key.utf8)
        chunk.append(UInt8(ascii: "\t"))
        chunk.append(contentsOf: String(line.line).utf8)
        let options = try line.options.map(JobQueue.json)
        for field in [line.url, line.host, line.path, line.priority.map(String.init), options] {
          chunk.append(UInt8(ascii: "\t"))
          Self.append(field, to: &chunk)
        }
        chunk.append(UInt8(ascii: "\n"))
      }
      next += 1000
      return chunk
    }

    /// Appends a field. Escapes backslash, newline, return and tab; NULL is `\N`. (PostgreSQL manual, COPY, "Text Format")
    static func append(_ field: String?, to chunk: inout [UInt8]) {
      guard let field else {
        chunk.append(contentsOf: "\\N".utf8)
        return
      }
      for byte in field.utf8 {
        switch byte {
        case UInt8(ascii: "\\"): chunk.append(contentsOf: "\\\\".utf8)
        case UInt8(ascii: "\n"): chunk.append(contentsOf: "\\n".utf8)
        case UInt8(ascii: "\r"): chunk.append(contentsOf: "\\r".utf8)
        case UInt8(ascii: "\t"): chunk.append(contentsOf: "\\t".utf8)
        default: chunk.append(byte)
        }
      }
    }
  }

  func makeAsyncIterator() -> AsyncIterator { AsyncIterator(key: key, lines: lines) }
}
