import Postgres

/// A line whose file an earlier job has downloaded. The caller checks whether the file is still there.
package struct FinishedLine: Sendable, Equatable {
  /// The number of the submitted line.
  package let line: Int
  /// Where it was published, below the store's root.
  package let path: String
  /// The file's length in bytes when it was published.
  package let bytes: Int64
  /// One that it must have and was not compared with when it came, as `alg=digest`.
  package let digest: String?
}

/// What came of a submission that takes earlier jobs over.
package struct ResubmitReply: Sendable, Equatable {
  /// Lines that were done already, and are no jobs now.
  package let finished: [FinishedLine]
  /// Jobs that are new.
  package let submitted: Int
  /// Earlier jobs that are this submission's now, with what is durable of them.
  package let takenOver: Int
  /// How many of them had not ended and have the same URL as before.
  package let unfinished: Int
}

/// What `haul.resubmit` gives.
private struct ResubmitCounts: Sendable, Decodable {
  let takenOver: Int
  let unfinished: Int
  /// The lines that are done or have taken a job over.
  let lines: Int
}

extension JobQueue {
  /// Submits all lines or none as jobs of this submission, whatever became of earlier jobs for the same paths: those
  /// that wait, or have ended, are taken over. Durable on return.
  ///
  /// - Parameter isDone: whether the file of an earlier, completed job with the same URL is still what it was. Such
  ///   lines are left out; with `replace` and `rename` only where their queue has not come to its end. The transaction waits
  ///   for it.
  /// - Throws: `JobQueueError.busy` where such a job is running now, `.noSuchName` for the queue; `SubmissionError.conflicts` for
  ///   one path with two URLs, `.miscounted` where a line is lost. Nothing is changed then.
  package func resubmit(
    _ submission: Submission, _ lines: [SubmitLine],
    isDone: @escaping @Sendable (FinishedLine) async -> Bool
  ) async throws -> ResubmitReply {
    try await ensurePartitions(room: Int64(lines.count + 100_000))
    do {
      return try await connection.transaction { connection in
        try await JobQueue(connection).resubmitInOne(submission, lines, isDone)
      }
    } catch let error as PostgresError {
      throw JobQueueError(error) ?? error
    }
  }

  /// Does the work of `resubmit` in a transaction that is open.
  private func resubmitInOne(
    _ submission: Submission, _ lines: [SubmitLine],
    _ isDone: @Sendable (FinishedLine) async -> Bool
  ) async throws -> ResubmitReply {
    var submission = submission
    submission.onDuplicate = .replace
    // Files of any size are compared in this transaction, whose database is this program's own.
    try await connection.execute("SET LOCAL idle_in_transaction_session_timeout = '7d'")
    let key: String = try await call("SELECT haul.begin_submission($1, true)", [submission.queue])
    try await stage(lines, key)
    let conflicts = try await check(submission, key, lines.count)
    if conflicts.count > 0 { throw SubmissionError.conflicts(conflicts) }
    var finished: [FinishedLine] = []
    for line in try await finishedLines(key, submission) where await isDone(line) {
      finished.append(line)
    }
    let earlier: ResubmitCounts = try await callJSON(
      "SELECT haul.resubmit($1::uuid, $2, $3, $4::jsonb, $5::bigint[])",
      [
        key, submission.queue, submission.batch, try Self.json(submission.options),
        finished.map { Int64($0.line) },
      ])
    var reply = SubmitReply(conflicts: conflicts)
    var (done, isLeft) = (earlier.lines, true)
    while isLeft {
      let chunk = try await submitChunk(submission, key, limit: Self.submitLimit)
      reply.add(chunk)
      done += chunk.lines
      isLeft = chunk.left
    }
    if done != lines.count { throw SubmissionError.miscounted(done, of: lines.count) }
    try await rows("SELECT haul.end_submission($1::uuid)", [key])
    return ResubmitReply(
      finished: finished, submitted: reply.submitted, takenOver: earlier.takenOver,
      unfinished: earlier.unfinished)
  }

  private func finishedLines(
    _ key: String, _ submission: Submission
  ) async throws -> [FinishedLine] {
    try await rows(
      "SELECT line, path, bytes, digest FROM haul.finished_lines($1::uuid, $2, $3::jsonb)",
      [key, submission.queue, try Self.json(submission.options)]
    ).map { row in
      FinishedLine(
        line: try row.decode("line", as: Int.self), path: try row.decode("path", as: String.self),
        bytes: try row.decode("bytes", as: Int64.self), digest: try row.decode("digest"))
    }
  }
}
