import Postgres

/// A line whose file an earlier job has downloaded. The caller checks whether the file is still there.
package struct FinishedLine: Sendable, Equatable {
  /// The number of the submitted line.
  package let line: Int
  /// The path where the file was published, below the store's root.
  package let path: String
  /// The file's length in bytes when it was published.
  package let bytes: Int64
  /// A digest that the line requires and that was not verified at the download, as `alg=digest`; nil if there is none.
  package let digest: String?
}

/// The result of a submission that takes over earlier jobs.
package struct ResubmitReply: Sendable, Equatable {
  /// The lines whose files were finished already. They do not become jobs.
  package let finished: [FinishedLine]
  /// The number of new jobs.
  package let submitted: Int
  /// The number of earlier jobs that this submission took over, with their durable bytes.
  package let takenOver: Int
  /// The number of these earlier jobs that had not ended and keep their URL.
  package let unfinished: Int
}

/// The reply of `haul.resubmit`.
private struct ResubmitCounts: Sendable, Decodable {
  let takenOver: Int
  let unfinished: Int
  /// The number of lines that were finished already or have taken over a job.
  let lines: Int
}

extension JobQueue {
  /// Submits all lines or none as jobs of this submission. Takes over earlier jobs with the same paths if they wait or have
  /// ended. Durable on return.
  ///
  /// - Parameter isDone: returns whether the file of an earlier, completed job with the same URL is still unchanged. If so,
  ///   the line is left out. With the policies `replace` and `rename`, only jobs of the same policy count, and only while
  ///   jobs of their queue wait or run. The transaction waits for the answer.
  /// - Throws: `JobQueueError.busy` if one of the earlier jobs is running now, `.noSuchName` for the queue;
  ///   `SubmissionError.conflicts` for one path with two URLs, `.miscounted` if a line is lost. Then nothing is changed.
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

  /// Does the work of `resubmit` in an open transaction.
  private func resubmitInOne(
    _ submission: Submission, _ lines: [SubmitLine],
    _ isDone: @Sendable (FinishedLine) async -> Bool
  ) async throws -> ResubmitReply {
    var submission = submission
    submission.onDuplicate = .replace
    // This transaction stays open while files of any size are compared. That is safe: only this program uses the database.
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
