import HaulSystem
package import JobQueue
package import Terminal

extension BatchRow {
  package typealias Column = Listing<BatchRow>.Column

  /// The columns of the table for people. They fit into 80 characters per line.
  package static let columns: [Column] = [
    Column("BATCH", key: "batch", isName: true, value: { .string($0.batch) }),
    Column("JOBS", key: "jobs", .right, value: { .number($0.jobs) }),
    Column("COMPLETED", key: "completed", .right, value: { .number($0.completed) }),
    Column(
      "FAILED", key: "failed", .right, value: { .number($0.failed) },
      style: { $0.failed > 0 ? .red : nil }),
    Column("CANCELLED", key: "cancelled", .right, value: { .number($0.cancelled) }),
    Column("LEFT", key: "unfinished", .right, value: { .number($0.unfinished) }),
    Column(
      "BYTES", key: "bytes", .right, value: { .number($0.bytes) },
      text: { HumanFormat.bytes($0.allBytes) }),
    Column(
      "RATE", key: "rate", .right, value: { .number($0.rate) },
      text: { HumanFormat.rate($0.rate) }),
    Column(
      "TIME LEFT", key: "time_left", .right,
      value: { $0.secondsLeft.map(JSONValue.double) ?? .null },
      text: {
        $0.end ?? ($0.isPaused ? "paused" : nil)
          ?? $0.secondsLeft.flatMap { HumanFormat.timeLeft(.clamped(seconds: $0)) } ?? "-"
      }, style: { $0.isPaused ? .yellow : nil }),
  ]

  /// Further columns of the list, for JSON output and for the view of one batch.
  package static let moreColumns: [Column] = [
    Column("RUNNING", key: "running", .right, value: { .number($0.running) }),
    .time("SUBMITTED", key: "submitted_at") { $0.submittedAt },
    Column("STEERING", key: "steering", value: { .text($0.steering) }),
    Column(
      "COMPLETED BYTES", key: "completed_bytes", .right, value: { .number($0.completedBytes) },
      text: { HumanFormat.bytes($0.completedBytes) }),
    Column(
      "WAITING BYTES", key: "waiting_bytes", .right, value: { .number($0.waitingBytes) },
      text: { HumanFormat.bytes($0.waitingBytes) }),
    Column(
      "WAITING PARTS", key: "waiting_parts", .right, value: { .double($0.waitingParts) },
      text: { parts($0.waitingParts) }),
    Column(
      "PAUSED", key: "held", .right, value: { .number($0.held) },
      text: { "\($0.held)\($0.orMore)" }),
    Column(
      "RUNNING PARTS", key: "running_parts", .right, value: { .double($0.runningParts) },
      text: { parts($0.runningParts) }),
    Column("PAUSED QUEUE", key: "paused_queue", value: { .text($0.pausedQueue) }),
  ]

  private static func parts(_ parts: Double) -> String {
    parts > 0 ? "\((parts * 10).rounded() / 10)" : "-"
  }

  /// How the batch ended; nil while jobs are left, or if the batch has no jobs of its own.
  private var end: String? {
    if jobs == 0 || unfinished > 0 { return nil }
    return cancelled == jobs ? "cancelled" : completed < jobs ? "ended" : "done"
  }

  /// The words after the number of paused jobs, if the count reached its maximum.
  private var orMore: String { held < Self.mostHeld ? "" : " or more" }

  /// A note to print after a submission to the batch, if the batch has paused jobs; otherwise nil.
  package var noteOnSubmission: String? {
    guard held > 0 || steering == "pause" else { return nil }
    let others =
      held > 0
      ? "\(counted(Int(held), "job"))\(orMore) of the batch \(batch) \(held == 1 ? "is" : "are") paused"
      : "the batch \(batch) is being paused"
    return "\(others). The jobs that you have just submitted are not paused. To pause them too, "
      + "run: haul pause --batch \(shellWord(batch))"
  }

  /// The text for a batch without jobs. A batch has none if all URLs that were submitted to it already had jobs elsewhere.
  package static let noJobs = "no jobs of its own"

  /// The explanation that follows the text ``noJobs``.
  package static let whereJobsAre = "its URLs may already have jobs in another batch"

  /// Returns a note if an operator's command is in progress or keeps jobs from starting, or if the batch has no jobs; otherwise
  /// nil.
  @Sendable package static func word(_ row: BatchRow) -> String? {
    switch (row.steering, row.pausedQueue) {
    case ("cancel", _): "being cancelled"
    case ("pause", _): "being paused"
    case (_, let queue?): "the queue \(queue) is paused"
    case _ where row.jobs == 0: noJobs
    default: row.held > 0 ? "\(counted(Int(row.held), "job"))\(row.orMore) paused" : nil
    }
  }
}
