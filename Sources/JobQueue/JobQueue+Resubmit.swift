import Postgres

/// A submitted line whose file an earlier job has already downloaded. The caller checks whether the file still exists.
package struct FinishedLine: Sendable, Equatable {
  /// The number of the submitted line.
  package let line: Int
  /// The path of the published file, below the store's root.
  package let path: String
  /// The length of the file in bytes when it was published.
  package let bytes: Int64
  /// A digest that the line requires but that the earlier download did not verify, as `alg=digest`; nil if there is none.
  package let digest: String?
}

/// The result of ``JobQueue/resubmit(_:_:isDone:)``.
package struct ResubmitReply: Sendable, Equatable {
  /// The lines whose files were already downloaded. They do not become jobs.
  package let finished: [FinishedLine]
  /// The number of jobs that were created.
  package let submitted: Int
  /// The number of earlier jobs that became jobs of this submission. If the URL stays the same, such a job keeps the bytes that
  /// it has already downloaded.
  package let takenOver: Int
  /// The number of jobs in ``takenOver`` that had not ended. These jobs keep their URL.
  package let unfinished: Int
}

/// The reply of `haul.resubmit`.
private struct ResubmitCounts: Sendable, Decodable {
  let takenOver: Int
  let unfinished: Int
  /// The number of lines whose files were already downloaded or that have taken over a job.
  let lines: Int
}

extension JobQueue {
  /// Submits all lines or none. If an earlier job has the path of a line, and the earlier job waits or has ended, the earlier
  /// job becomes the job of the line. For any other line, the function creates a job. The jobs are durable on return.
  ///
  /// - Parameter isDone: returns whether the file of an earlier, completed job with the line's URL is still unchanged. If the
  ///   file is unchanged, the line gets no job. If the option `if_exists` of the submission is `replace` or `rename`, the
  ///   function calls `isDone` only for earlier jobs with the same option. The queue of such a job must still have waiting or
  ///   running jobs. The transaction stays open while `isDone` runs.
  /// - Throws: `JobQueueError.busy` if one of the earlier jobs is running now, `.noSuchName` if the queue does not exist;
  ///   `SubmissionError.conflicts` if one path has two URLs, `.miscounted` if a line is lost. In all these cases nothing
  ///   changes.
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
