import Postgres

/// A line whose file an earlier job has brought already, if it is still there.
package struct FinishedLine: Sendable, Equatable {
  /// The number of the submitted line.
  package let line: Int
  /// Where it was published, below the store's root.
  package let path: String
  /// Its length then.
  package let bytes: Int64
}

/// What came of a submission that takes earlier jobs over.
package struct ResubmitReply: Sendable, Equatable {
  /// Lines that were done already, and are no jobs now.
  package let finished: [FinishedLine]
  /// Jobs that are new.
  package let submitted: Int
  /// Earlier jobs that are this submission's now, with what is durable of them.
  package let takenOver: Int
  /// Those of them that had not ended.
  package let unfinished: Int
}

/// What `haul.resubmit` gives.
private struct Earlier: Sendable, Decodable {
  let takenOver: Int
  let unfinished: Int
}

extension JobQueue {
  /// Submits all lines or none as jobs of this submission, whatever became of earlier jobs for the same paths: those
  /// that wait, or have ended, are taken over. Durable on return.
  ///
  /// - Parameter isDone: whether the file of an earlier, completed job with the same URL is still what it was. Such
  ///   lines are left out; with `replace` and `rename` only where their queue has not come to its end. It may block
  ///   for as long as a stat(2) takes.
  /// - Throws: `JobQueueError.busy` where such a job is running now, `.noSuchName` for the queue, `.refused` for one
  ///   path with two URLs.
  package func resubmit(
    _ submission: Submission, _ lines: [SubmitLine],
    isDone: @escaping @Sendable (FinishedLine) -> Bool
  ) async throws -> ResubmitReply {
    let options = try Self.json(submission.options)
    try await ensurePartitions(room: Int64(lines.count + 100_000))
    return try await staging(lines) { queue in
      let finished = try await queue.finishedLines(submission.queue, options)
        .filter(isDone)
      let earlier: Earlier = try await queue.callJSON(
        "SELECT haul.resubmit($1, $2, $3::jsonb, $4::bigint[])",
        [submission.queue, submission.batch, options, finished.map { Int64($0.line) }])
      let reply: SubmitReply = try await queue.callJSON(
        "SELECT haul.submit($1, $2, $3::smallint, $4::jsonb, NULL)",
        [submission.queue, submission.batch, submission.priority, options])
      return ResubmitReply(
        finished: finished, submitted: reply.submitted, takenOver: earlier.takenOver,
        unfinished: earlier.unfinished)
    }
  }

  private func finishedLines(_ queue: String, _ options: String) async throws -> [FinishedLine] {
    try await rows(
      "SELECT line, path, bytes FROM haul.finished_lines($1, $2::jsonb)", [queue, options]
    ).map { row in
      FinishedLine(
        line: try row.decode("line", as: Int.self), path: try row.decode("path", as: String.self),
        bytes: try row.decode("bytes", as: Int64.self))
    }
  }
}
