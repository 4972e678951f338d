/// The result of one attempt at a job, as a word of the view `haul.attempts`.
package struct AttemptResult: DatabaseWord {
  package let rawValue: String
  package init(rawValue: String) { self.rawValue = rawValue }

  /// The attempt is still running.
  package static let running = AttemptResult(rawValue: "running")
  /// The attempt completed, and its file is published.
  package static let completed = AttemptResult(rawValue: "completed")
  /// The attempt ended with an error.
  package static let failed = AttemptResult(rawValue: "failed")
  /// The worker gave the job back to the queue before the download was finished.
  package static let released = AttemptResult(rawValue: "released")
  /// The worker died, and Haul put the job back into the queue.
  package static let rescued = AttemptResult(rawValue: "rescued")
  /// An operator cancelled the job.
  package static let cancelled = AttemptResult(rawValue: "cancelled")
  /// An operator paused the job.
  package static let paused = AttemptResult(rawValue: "paused")

  package static let known: [AttemptResult] = ended + [.running]

  /// All results except `running`.
  package static let ended: [AttemptResult] = [
    .completed, .failed, .released, .rescued, .cancelled, .paused,
  ]
}
